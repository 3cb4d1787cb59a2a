"""The sentences in which validators and the runtime tell of a wrong value, and ours for each."""

from typing import Final, NamedTuple

from django.utils.translation import gettext_noop


class Known(NamedTuple):
    """A sentence of the validator and what we say instead.

    Args:
        kind: What the validator calls the problem; empty for a sentence of the runtime's own.
        theirs: As it comes, with `{names}` where something is filled in.
        ours: The same as an order; empty where `_counted` has it, because it counts something.
    """

    kind: str
    theirs: str
    ours: str = ""


_NEEDED: Final = gettext_noop("This is needed.")
_UNKNOWN: Final = gettext_noop("There is no field of this name.")
_TEXT: Final = gettext_noop("Give a text.")
_WHOLE: Final = gettext_noop("Give a whole number.")
_NUMBER: Final = gettext_noop("Give a number.")
_DECIMAL: Final = gettext_noop("Give a number, like 12.5.")
_TRUTH: Final = gettext_noop("Give true or false.")
_LIST: Final = gettext_noop("Give a list.")
_OBJECT: Final = gettext_noop("Give an object.")
_DATE: Final = gettext_noop("Give a date, like 2026-12-01.")
_INSTANT: Final = gettext_noop("Give a date and a time, like 2026-12-01T09:30:00Z.")
_TIME: Final = gettext_noop("Give a time of day, like 09:30.")
_SPAN: Final = gettext_noop("Give a duration, like PT30M.")
_UUID: Final = gettext_noop("Give a UUID.")
_ADDRESS: Final = gettext_noop("Give an address, like https://example.org.")
_AMONG: Final = gettext_noop("Give one of these: {expected}.")

#: What the validator says, by its own names.
VALIDATOR: Final = (
    Known("missing", "Field required", _NEEDED),
    Known("extra_forbidden", "Extra inputs are not permitted", _UNKNOWN),
    Known("none_required", "Input should be None", gettext_noop("Leave this empty.")),
    Known("literal_error", "Input should be {expected}", _AMONG),
    Known("string_type", "Input should be a valid string", _TEXT),
    Known(
        "string_pattern_mismatch",
        "String should match pattern '{pattern}'",
        gettext_noop("This does not fit the pattern {pattern}"),
    ),
    Known(
        "string_too_short", "String should have at least {min_length} character{expected_plural}"
    ),
    Known("string_too_long", "String should have at most {max_length} character{expected_plural}"),
    Known("int_type", "Input should be a valid integer", _WHOLE),
    Known(
        "int_parsing",
        "Input should be a valid integer, unable to parse string as an integer",
        _WHOLE,
    ),
    Known(
        "int_from_float",
        "Input should be a valid integer, got a number with a fractional part",
        _WHOLE,
    ),
    Known(
        "int_parsing_size",
        "Unable to parse input string as an integer, exceeded maximum size",
        gettext_noop("This number has too many digits."),
    ),
    Known("float_type", "Input should be a valid number", _NUMBER),
    Known(
        "float_parsing",
        "Input should be a valid number, unable to parse string as a number",
        _NUMBER,
    ),
    Known("finite_number", "Input should be a finite number", _NUMBER),
    Known(
        "decimal_type",
        "Decimal input should be an integer, float, string or Decimal object",
        _DECIMAL,
    ),
    Known("decimal_parsing", "Input should be a valid decimal", _DECIMAL),
    Known(
        "decimal_max_digits",
        "Decimal input should have no more than {max_digits} digit{expected_plural} in total",
    ),
    Known(
        "decimal_max_places",
        "Decimal input should have no more than {decimal_places} decimal place{expected_plural}",
    ),
    Known(
        "decimal_whole_digits",
        "Decimal input should have no more than {whole_digits} digit{expected_plural} "
        "before the decimal point",
    ),
    Known(
        "greater_than",
        "Input should be greater than {gt}",
        gettext_noop("Give more than {gt}."),
    ),
    Known(
        "greater_than_equal",
        "Input should be greater than or equal to {ge}",
        gettext_noop("Give at least {ge}."),
    ),
    Known("less_than", "Input should be less than {lt}", gettext_noop("Give less than {lt}.")),
    Known(
        "less_than_equal",
        "Input should be less than or equal to {le}",
        gettext_noop("Give at most {le}."),
    ),
    Known(
        "multiple_of",
        "Input should be a multiple of {multiple_of}",
        gettext_noop("Give a multiple of {multiple_of}."),
    ),
    Known("bool_type", "Input should be a valid boolean", _TRUTH),
    Known("bool_parsing", "Input should be a valid boolean, unable to interpret input", _TRUTH),
    Known("list_type", "Input should be a valid list", _LIST),
    Known("tuple_type", "Input should be a valid tuple", _LIST),
    Known("set_type", "Input should be a valid set", _LIST),
    Known("frozen_set_type", "Input should be a valid frozenset", _LIST),
    Known(
        "too_short",
        "{field_type} should have at least {min_length} item{expected_plural} after validation, "
        "not {actual_length}",
    ),
    Known(
        "too_long",
        "{field_type} should have at most {max_length} item{expected_plural} after validation, "
        "not {actual_length}",
    ),
    Known("dict_type", "Input should be a valid dictionary", _OBJECT),
    Known("model_type", "Input should be a valid dictionary or instance of {class_name}", _OBJECT),
    Known(
        "model_attributes_type",
        "Input should be a valid dictionary or object to extract fields from",
        _OBJECT,
    ),
    Known("dataclass_type", "Input should be a dictionary or an instance of {class_name}", _OBJECT),
    Known(
        "union_tag_not_found",
        "Unable to extract tag using discriminator {discriminator}",
        gettext_noop("Say which kind this is, in {discriminator}."),
    ),
    Known(
        "union_tag_invalid",
        "Input tag '{tag}' found using {discriminator} does not match any of the expected tags: "
        "{expected}",
        _AMONG,
    ),
    Known("date_type", "Input should be a valid date", _DATE),
    Known("date_parsing", "Input should be a valid date in the format YYYY-MM-DD, {error}", _DATE),
    Known("date_from_datetime_parsing", "Input should be a valid date or datetime, {error}", _DATE),
    Known(
        "date_from_datetime_inexact",
        "Datetimes provided to dates should have zero time - e.g. be exact dates",
        _DATE,
    ),
    Known("date_past", "Date should be in the past", gettext_noop("Give a day that is past.")),
    Known("date_future", "Date should be in the future", gettext_noop("Give a day yet to come.")),
    Known("datetime_type", "Input should be a valid datetime", _INSTANT),
    Known("datetime_parsing", "Input should be a valid datetime, {error}", _INSTANT),
    Known("datetime_object_invalid", "Invalid datetime object, got {error}", _INSTANT),
    Known(
        "datetime_from_date_parsing", "Input should be a valid datetime or date, {error}", _INSTANT
    ),
    Known(
        "datetime_past", "Input should be in the past", gettext_noop("Give a time that is past.")
    ),
    Known(
        "datetime_future", "Input should be in the future", gettext_noop("Give a time yet to come.")
    ),
    Known(
        "timezone_naive",
        "Input should not have timezone info",
        gettext_noop("Leave the time zone out."),
    ),
    Known(
        "timezone_aware",
        "Input should have timezone info",
        gettext_noop("Add the time zone, like Z or +02:00."),
    ),
    Known("time_type", "Input should be a valid time", _TIME),
    Known("time_parsing", "Input should be in a valid time format, {error}", _TIME),
    Known("time_delta_type", "Input should be a valid timedelta", _SPAN),
    Known("time_delta_parsing", "Input should be a valid timedelta, {error}", _SPAN),
    Known("uuid_type", "UUID input should be a string, bytes or UUID object", _UUID),
    Known("uuid_parsing", "Input should be a valid UUID, {error}", _UUID),
    Known(
        "uuid_version",
        "UUID version {expected_version} expected",
        gettext_noop("Give a UUID of version {expected_version}."),
    ),
    Known("url_type", "URL input should be a string or URL", _ADDRESS),
    Known("url_parsing", "Input should be a valid URL, {error}", _ADDRESS),
    Known(
        "url_scheme",
        "URL scheme should be {expected}",
        gettext_noop("Give an address that begins with one of these: {expected}."),
    ),
)
#: What the runtime and the forms say.
RUNTIME: Final = (
    Known("", "missing", _NEEDED),
    Known("", "unknown argument", _UNKNOWN),
    Known("", "and {count} more"),
    Known("", "the input must be a JSON object", gettext_noop("The input is a JSON object.")),
    Known("", "a manifest is a JSON object", gettext_noop("A manifest is a JSON object.")),
    Known(
        "",
        "a value cannot be read ({name})",
        gettext_noop("A value of it cannot be read ({name})."),
    ),
    Known(
        "",
        'Value error, write money as a text, like "1.00"',
        gettext_noop('Write money as a text, like "1.00".'),
    ),
    Known(
        "",
        "value is not a valid email address: {error}",
        gettext_noop("Give an e-mail address, like ann@example.org."),
    ),
    Known(
        "",
        "manifest field '{field}' {detail}is not available in this version",
        gettext_noop("{field} is not available so in this version."),
    ),
    Known(
        "",
        "manifest field '{field}' is not available in this version",
        gettext_noop("{field} is not available in this version."),
    ),
    Known(
        "",
        "approval names {name}, which is not among the tools",
        gettext_noop("approval names {name}, which is not among the tools."),
    ),
    Known(
        "",
        "tools names {name} more than once",
        gettext_noop("tools names {name} more than once."),
    ),
    Known(
        "",
        "tools leaves out '{needed}', which '{name}' requires",
        gettext_noop("tools leaves out {needed}, which {name} requires."),
    ),
    Known(
        "",
        "tools leaves out '{needed}', which '{name}' falls back to",
        gettext_noop("tools leaves out {needed}, which {name} falls back to."),
    ),
)
#: What is wrong with a JSON text.
JSON: Final = (
    Known("", "Expecting value", gettext_noop("a value is expected")),
    Known("", "Expecting ',' delimiter", gettext_noop("a comma is expected")),
    Known("", "Expecting ':' delimiter", gettext_noop("a colon is expected")),
    Known(
        "",
        "Expecting property name enclosed in double quotes",
        gettext_noop("a name in double quotes is expected"),
    ),
    Known(
        "",
        "Illegal trailing comma before end of {where}",
        gettext_noop("there is a comma too many"),
    ),
    Known("", "Extra data", gettext_noop("something follows after the end")),
    Known(
        "", "Unterminated string starting at", gettext_noop("the text that begins here has no end")
    ),
    Known("", "Invalid control character at", gettext_noop("a control character stands in a text")),
    Known("", "Invalid {escape} escape", gettext_noop("a backslash stands before a wrong letter")),
    Known(
        "", "Invalid {escape} escape: ", gettext_noop("a backslash stands before a wrong letter")
    ),
)
