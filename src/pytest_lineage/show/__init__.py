"""A stored thread as a picture: read it, understand it, fold it, and draw it as text, Mermaid, HTML or JSON."""
