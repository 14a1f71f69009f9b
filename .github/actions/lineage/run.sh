#!/usr/bin/env bash
# The one step of the action that does the work; inputs come as LINEAGE_* variables, never as text of a script.
# Writes the step summary, annotations and reports, and puts the exit code and whether it fails into the outputs,
# whatever happens: the step itself never fails.
set -uo pipefail
set -f  # inputs divided by spaces are words, not file patterns

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/lineage-XXXXXX") || folder=$(mktemp -d)
fail_on=${LINEAGE_FAIL_ON:-regression}
report=

finish() {  # CODE: write the outputs
    failed=$1
    [[ $fail_on == never && $1 == [14] ]] && failed=0
    {
        echo "exit-code=$1"
        echo "failed=$failed"
        echo "folder=$folder"
        echo "report=$report"
    } >> "${GITHUB_OUTPUT:-/dev/null}"
    exit 0
}

complain() {  # TEXT: say it where it is seen
    local text=${1//'%'/%25}
    text=${text//$'\r'/%0D}
    echo "::error title=pytest-lineage::${text//$'\n'/%0A}"
}

refuse() {  # TEXT: it cannot be run
    complain "$1"
    finish 2
}

case $fail_on in
    regression | facts | anything | never) ;;
    *) refuse "fail-on is '$fail_on'; it must be regression, facts, anything or never" ;;
esac
python=${LINEAGE_PYTHON:-python}
"$python" -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("pytest_lineage"))' ||
    refuse "pytest-lineage is not installed in '$python'; install it in a step before, or name its interpreter with \`python\`"

arguments=(--target "${LINEAGE_TARGET:-}" --kind "${LINEAGE_KIND:-saver}")
for word in ${LINEAGE_WITH:-}; do arguments+=("--with=$word"); done
for word in ${LINEAGE_ARGUMENTS:-}; do arguments+=("$word"); done

if [[ -n ${LINEAGE_MATRIX:-} ]]; then
    words=()
    for word in $LINEAGE_MATRIX; do words+=("$word"); done
    command=(matrix "${words[@]}" "${arguments[@]}" --html "$folder/matrix.html" --reports "$folder")
else
    report=$folder/bump.json
    command=(bump)
    if [[ -n ${LINEAGE_TO:-} ]]; then
        arguments+=(--to "$LINEAGE_TO")
    elif [[ ${LINEAGE_BUMP:-} == latest ]]; then
        arguments+=(--latest)
    else
        for word in ${LINEAGE_BUMP:-}; do command+=("$word"); done
    fi
    case $fail_on in
        facts) arguments+=(--strict-facts) ;;
        anything) arguments+=(--strict-facts --strict-handover) ;;
    esac
    command+=(--from "${LINEAGE_FROM:-installed}" "${arguments[@]}"
        --facts-lock "${LINEAGE_BASELINE:-facts.lock}" --report "$report")
fi

"$python" -m pytest_lineage "${command[@]}" --format markdown > "$folder/summary.md" 2> "$folder/messages.txt"
code=$?
cat "$folder/messages.txt"
[[ $code == [23] ]] && complain "$(tail -n 1 "$folder/messages.txt")"
head -c 1000000 "$folder/summary.md" | tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"
finish "$code"
