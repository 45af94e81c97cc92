"""Tests of extraction: prompts, answers, windows, inheritance."""
