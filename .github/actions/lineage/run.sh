#!/usr/bin/env bash
# The one step of the action that does the work; inputs come as LINEAGE_* variables, never as text of a script.
# Writes the step summary, annotations and reports, and puts the exit code and whether it fails into the outputs.
set -uo pipefail

folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/lineage-XXXXXX")
set -f  # inputs divided by spaces are words, not file patterns
arguments=(--target "$LINEAGE_TARGET" --kind "${LINEAGE_KIND:-saver}")
for word in ${LINEAGE_WITH:-}; do arguments+=(--with "$word"); done
for word in ${LINEAGE_ARGUMENTS:-}; do arguments+=("$word"); done

if [[ -n ${LINEAGE_MATRIX:-} ]]; then
    words=()
    for word in $LINEAGE_MATRIX; do words+=("$word"); done
    command=(matrix "${words[@]}" "${arguments[@]}" --html "$folder/matrix.html" --reports "$folder")
    report=
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
    case ${LINEAGE_FAIL_ON:-regression} in
        facts) arguments+=(--strict-facts) ;;
        anything) arguments+=(--strict-facts --strict-handover) ;;
        regression | never) ;;
        *) echo "::error::fail-on is '$LINEAGE_FAIL_ON'; it must be regression, facts, anything or never"; exit 2 ;;
    esac
    command+=(--from "${LINEAGE_FROM:-installed}" "${arguments[@]}"
        --facts-lock "${LINEAGE_BASELINE:-facts.lock}" --report "$report")
fi

"${LINEAGE_PYTHON:-python}" -m pytest_lineage "${command[@]}" --format markdown \
    > "$folder/summary.md" 2> "$folder/messages.txt"
code=$?
cat "$folder/messages.txt"
[[ $code == [23] ]] && { echo "::error title=pytest-lineage::$(tail -n 1 "$folder/messages.txt")"; }
head -c 1000000 "$folder/summary.md" | tee -a "${GITHUB_STEP_SUMMARY:-/dev/null}"

failed=$code
[[ ${LINEAGE_FAIL_ON:-regression} == never && $code == [14] ]] && failed=0
{
    echo "exit-code=$code"
    echo "failed=$failed"
    echo "folder=$folder"
    echo "report=$report"
} >> "${GITHUB_OUTPUT:-/dev/null}"
exit 0
