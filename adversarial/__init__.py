"""Attacks on an executor as data, and a runner whose verdicts come from what the host observed.

``python -m adversarial`` runs the corpus against the engine in this repository. ``runner.run`` takes any ``Adapter``.
"""
