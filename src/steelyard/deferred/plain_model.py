"""A frozen model that reads plain data by itself; `pydantic_model.py` is asked about everything else.

Declared, validated, copied and dumped as a model of pydantic, of which these are known: `extra` of the configuration, defaults,
aliases, validators that run `after`, one serializer of the mode `wrap`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin

from steelyard.deferred.constraints import Field, NotPlainError
from steelyard.deferred.plain_values import Form, Reader, evaluate_annotation, reader_of

_REQUIRED = object()
_MARK = "__steelyard_role__"


def field_validator(*names: str) -> Callable[[Any], Any]:
    """A class method that sees the value of these fields where it is written."""
    return lambda method: _marked(method, method.__func__, names)


def model_validator(*, mode: str) -> Callable[[Any], Any]:
    assert mode == "after"
    return lambda method: _marked(method, method, "validator")


def model_serializer(*, mode: str) -> Callable[[Any], Any]:
    assert mode == "wrap"
    return lambda method: _marked(method, method, "serializer")


def _marked(method: Any, function: Any, role: str | tuple[str, ...]) -> Any:
    setattr(function, _MARK, role)
    return method


def role_of(attribute: Any) -> str | tuple[str, ...] | None:
    """`validator`, `serializer`, or the fields that a method validates."""
    if not callable(attribute) and not isinstance(attribute, classmethod):
        return None
    found: str | tuple[str, ...] | None = getattr(getattr(attribute, "__func__", attribute), _MARK, None)
    return found


class _DeclaredField:
    """One field of a model."""

    __slots__ = ("_is_fraction", "_owner", "_reader", "default", "factory", "key", "name")

    def __init__(self, owner: type, name: str) -> None:
        value = vars(owner).get(name, _REQUIRED)
        options = value.options if isinstance(value, Field) else {"default": value}
        self.name, self._owner = name, owner
        self.key: str = options.get("alias", name)
        self.default: Any = options.get("default", _REQUIRED)
        self.factory: Callable[[], Any] | None = options.get("default_factory")
        self._reader: Reader | None = None
        self._is_fraction: bool | None = None

    def read(self, value: Any, *, form: Form) -> Any:
        if self._reader is None:
            self._reader = reader_of(evaluate_annotation(self._owner, self.name))
        return self._reader(value, form)

    def to_json(self, value: Any) -> Any:
        """A whole number as the default of a field of fractions becomes a fraction, as pydantic writes it."""
        if type(value) is not int:
            return value
        if self._is_fraction is None:
            self._is_fraction = float in _kinds(evaluate_annotation(self._owner, self.name))
        return float(value) if self._is_fraction else value

    def make_default(self) -> Any:
        if self.factory is not None:
            return self.factory()
        if self.default is _REQUIRED:
            raise NotPlainError
        return self.default


class _PydanticFields:
    """`model_fields`, as pydantic knows them."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> Mapping[str, Any]:
        return owner.pydantic_model().model_fields  # type: ignore[no-any-return]


class BaseModel:
    __slots__ = ("__dict__", "__weakref__", "_dumped", "_given")
    model_config: ClassVar[dict[str, Any]] = {}
    model_fields: ClassVar[Any] = _PydanticFields()
    _declared: ClassVar[dict[str, _DeclaredField]] = {}
    _field_validators: ClassVar[dict[str, list[str]]] = {}
    _model_validators: ClassVar[list[str]] = []
    _serializer: ClassVar[str | None] = None
    _allows_extra: ClassVar[bool] = False
    _given: frozenset[str]
    _dumped: dict[
        bool, dict[str, Any]
    ]  # by alias or not: as JSON; a run asks for parts of its contract twenty times

    def __init_subclass__(cls) -> None:
        names = [
            name
            for name, written in vars(cls).get("__annotations__", {}).items()
            if not name.startswith("_") and not str(written).startswith("ClassVar")
        ]
        cls._declared = {**cls._declared, **{name: _DeclaredField(cls, name) for name in names}}
        cls._field_validators = {name: list(one) for name, one in cls._field_validators.items()}
        cls._model_validators = list(cls._model_validators)
        cls._allows_extra = vars(cls).get("model_config", {}).get("extra", "forbid") == "allow"
        for name, attribute in list(vars(cls).items()):
            role = role_of(attribute)
            if role == "validator":
                cls._model_validators.append(name)
            elif role == "serializer":
                cls._serializer = name
            for field in role if isinstance(role, tuple) else ():
                cls._field_validators.setdefault(field, []).append(name)

    def __init__(self, /, **data: Any) -> None:
        try:
            made = self.read_plain(data, form="python")
        except NotPlainError:
            made = self._converted(self.pydantic_model()(**_to_pydantic(data)))
        self._set(made.__dict__, made._given)  # noqa: SLF001  # of this class

    # What pydantic does, for plain data.

    @classmethod
    def read_plain(cls, data: Mapping[str, Any], *, form: Form) -> Self:
        """An instance; raises NotPlainError where pydantic has to decide."""
        rest = dict(data)
        values: dict[str, Any] = {}
        given = set()
        for name, field in cls._declared.items():
            if field.key in rest:
                value = field.read(rest.pop(field.key), form=form)
                values[name] = cls._validated(name, value)
                given.add(name)
            else:
                values[name] = field.make_default()
        if rest:
            values |= cls._read_extra(rest, form=form)
            given |= rest.keys()
        made = cls.__new__(cls)
        made._set(values, frozenset(given))  # noqa: SLF001
        return made._checked()  # noqa: SLF001

    @classmethod
    def _read_extra(cls, rest: Mapping[str, Any], *, form: Form) -> dict[str, Any]:
        if not cls._allows_extra or rest.keys() & cls._declared.keys():
            raise NotPlainError
        reader = reader_of(dict[str, Any])
        found: dict[str, Any] = reader(rest, form)
        return found

    @classmethod
    def _validated(cls, name: str, value: Any) -> Any:
        try:
            for validator in cls._field_validators.get(name, ()):
                value = getattr(cls, validator)(value)
        except (ValueError, AssertionError) as error:
            raise NotPlainError from error
        return value

    def _checked(self) -> Self:
        try:
            for validator in self._model_validators:
                self = getattr(self, validator)()  # noqa: PLW0642  # as pydantic, which takes what it returns
        except (ValueError, AssertionError) as error:
            raise NotPlainError from error
        return self

    def _set(self, values: Mapping[str, Any], given: frozenset[str]) -> None:
        self.__dict__.update(values)
        object.__setattr__(self, "_given", given)
        object.__setattr__(self, "_dumped", {})

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        try:
            data = json.loads(text)
            if type(data) is dict:
                return cls.read_plain(data, form="json")
        except (NotPlainError, ValueError, RecursionError):
            pass
        return cls._converted(cls.pydantic_model().model_validate_json(text))

    @classmethod
    def model_validate(cls, data: Any, *, strict: bool | None = None) -> Self:
        if type(data) is cls:
            return data
        try:
            if type(data) is dict:
                return cls.read_plain(data, form="json" if strict is False else "python")
        except NotPlainError:
            pass
        return cls._converted(cls.pydantic_model().model_validate(_to_pydantic(data), strict=strict))

    @property
    def model_fields_set(self) -> set[str]:
        return set(self._given)

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        made = type(self).__new__(type(self))
        made._set({**self.__dict__, **(update or {})}, self._given | (update or {}).keys())  # noqa: SLF001
        return made

    def model_dump(
        self, *, mode: str = "python", by_alias: bool = False, exclude: Collection[str] = ()
    ) -> dict[str, Any]:
        """A new structure each time."""
        if mode != "json" or exclude:
            return self._dump(mode, by_alias=by_alias, exclude=exclude)
        if by_alias not in self._dumped:
            self._dumped[by_alias] = self._dump(mode, by_alias=by_alias)
        copied: dict[str, Any] = _copy_plain(self._dumped[by_alias])
        return copied

    def _dump(self, mode: str, *, by_alias: bool, exclude: Collection[str] = ()) -> dict[str, Any]:
        declared = self._declared

        def dump(model: Any) -> dict[str, Any]:
            return {
                self._key(name, by_alias=by_alias): _dump_value(
                    declared[name].to_json(value) if mode == "json" and name in declared else value,
                    mode,
                    by_alias=by_alias,
                )
                for name, value in model.__dict__.items()
                if name not in exclude
            }

        found: dict[str, Any] = (
            dump(self) if self._serializer is None else getattr(self, self._serializer)(dump)
        )
        return found

    def _key(self, name: str, *, by_alias: bool) -> str:
        return self._declared[name].key if by_alias and name in self._declared else name

    def model_dump_json(self) -> str:
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))

    # What only pydantic does.

    @classmethod
    def pydantic_model(cls) -> Any:
        """The model of pydantic with the same declaration."""
        from steelyard.deferred.pydantic_model import pydantic_model  # noqa: PLC0415  # loads pydantic

        return pydantic_model(cls)

    @classmethod
    def _converted(cls, made: Any) -> Self:
        one = cls.__new__(cls)
        values = {name: made.__dict__[name] for name in cls._declared}
        one._set(values | (made.__pydantic_extra__ or {}), frozenset(made.model_fields_set))  # noqa: SLF001
        return one

    @classmethod
    def model_json_schema(cls, **options: Any) -> dict[str, Any]:
        found: dict[str, Any] = cls.pydantic_model().model_json_schema(**options)
        return found

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """As a field of a model of pydantic: validated by pydantic, an instance of this class."""
        from pydantic_core import core_schema  # noqa: PLC0415  # it asks, so it is loaded

        return core_schema.no_info_after_validator_function(
            cls._converted,
            handler.generate_schema(cls.pydantic_model()),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: value.model_dump(mode="json", by_alias=True)
            ),
        )

    def to_pydantic(self) -> Any:
        """This instance as one of the model of pydantic; the models in it stay."""
        values = {self._key(name, by_alias=True): value for name, value in self.__dict__.items()}
        return self.pydantic_model().model_construct(set(self._given), **values)

    # What every frozen class has.

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.to_pydantic(), name, value)  # which refuses it

    def __delattr__(self, name: str) -> None:
        delattr(self.to_pydantic(), name)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(self) is type(other) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def __getstate__(self) -> tuple[dict[str, Any], frozenset[str]]:
        return self.__dict__, self._given

    def __setstate__(self, state: tuple[dict[str, Any], frozenset[str]]) -> None:
        self._set(*state)


def _kinds(annotation: Any) -> set[Any]:
    """The types that a value may have, without what is asked of it."""
    if get_origin(annotation) is Annotated:
        return _kinds(annotation.__origin__)
    inner = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    return {annotation}.union(*map(_kinds, inner))


def field_names(model: Any) -> Collection[str]:
    """The names of a model's fields, which pydantic is not asked for."""
    return model._declared.keys()  # type: ignore[no-any-return]  # noqa: SLF001  # a class of this file


def _to_pydantic(value: Any) -> Any:
    """The same data with instances that pydantic knows."""
    if isinstance(value, BaseModel):
        return value.to_pydantic()
    if type(value) is dict:
        return {key: _to_pydantic(one) for key, one in value.items()}
    return type(value)(map(_to_pydantic, value)) if type(value) in (list, tuple) else value


def _copy_plain(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copy_plain(one) for key, one in value.items()}
    return [_copy_plain(one) for one in value] if type(value) is list else value


def _dump_value(value: Any, mode: str, *, by_alias: bool) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        return value._dump(mode, by_alias=by_alias)  # noqa: SLF001  # of this file
    if isinstance(value, dict):
        return {key: _dump_value(one, mode, by_alias=by_alias) for key, one in value.items()}
    if isinstance(value, list | tuple):
        items = [_dump_value(one, mode, by_alias=by_alias) for one in value]
        return tuple(items) if isinstance(value, tuple) and mode == "python" else items
    if mode == "python":
        return value
    from pydantic_core import to_jsonable_python  # noqa: PLC0415  # a time, which only people's judgements have

    return to_jsonable_python(value)
