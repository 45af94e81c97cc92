"""What the search page takes in."""

from __future__ import annotations

from django import forms

from memoryapp.forms.fields import IdField, PageForm
from memoryapp.services.search import MAX_RESULTS, RECORD_TYPES, STRATEGIES

#: What each strategy compares.
COMPARES = {"vector": "Meanings", "keyword": "Words", "hybrid": "Meanings and words"}


class SearchForm(PageForm):
    """A query, where to look, what for and how much."""

    q = forms.CharField(
        label="Query",
        max_length=10_000,
        widget=forms.TextInput(
            attrs={
                "type": "search",
                "placeholder": "What should the memories be about?",
                "data-find": "",
                "autocomplete": "off",
            }
        ),
    )
    user = IdField(label="User", widget=forms.TextInput(attrs={"placeholder": "All users"}))
    agent = IdField(label="Agent", widget=forms.TextInput(attrs={"placeholder": "Any agent"}))
    thread = IdField(label="Thread", widget=forms.TextInput(attrs={"placeholder": "Any thread"}))
    types = forms.MultipleChoiceField(
        label="Look for",
        required=False,
        choices=[(name, name.capitalize()) for name in RECORD_TYPES],
        widget=forms.CheckboxSelectMultiple,
    )
    k = forms.IntegerField(
        label="Results", required=False, min_value=1, max_value=MAX_RESULTS, initial=10
    )
    by = forms.ChoiceField(
        label="Compare",
        required=False,
        choices=[("", "As set up"), *((name, COMPARES[name]) for name in STRATEGIES)],
    )
    invalid = forms.BooleanField(label="Include invalid", required=False)
