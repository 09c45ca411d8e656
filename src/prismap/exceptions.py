"""What prismap raises and warns with."""


class InputError(ValueError):
    """The user's input is wrong: the message names the argument, what was found and the way out."""


class PrismapWarning(UserWarning):
    """Something was changed or is worth knowing, and the work went on."""


class FileFormatError(InputError):
    """A file is not one of ours, is damaged, too large, or newer than this version can read."""


class MissingExtraError(ImportError):
    """An optional package is needed; the message names the feature, the package and the extra."""
