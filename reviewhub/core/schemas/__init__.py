"""JSON Schemas that agents write, of their tools' arguments and of their states: checked, and used without trust.

``check`` says what may be registered, ``validate`` uses it, ``evaluator`` does the work, ``patterns`` holds the
linear-time engine, ``wording`` says in words what does not fit.
"""
