"""A model of `plain_model.py` -> the model of pydantic that has the same declaration.

Fields, docstring, configuration, validators and methods are the same objects; only what pydantic must recognise as its own is
put in its words. A field whose type is a model of `plain_model.py` stays one: see `__get_pydantic_core_schema__` there.
"""

from __future__ import annotations

import threading
import types
from typing import Any

import pydantic

from steelyard.deferred.constraints import Field
from steelyard.deferred.plain_model import BaseModel, role_of

_COPIED_NOT = {"__dict__", "__weakref__", *(name for name in vars(BaseModel) if name.startswith("_") and not name.startswith("__"))}  # fmt: skip
_made: dict[type[BaseModel], type[pydantic.BaseModel]] = {BaseModel: pydantic.BaseModel}
_lock = threading.RLock()


def pydantic_model(model: type[BaseModel]) -> type[pydantic.BaseModel]:
    with _lock:
        if model not in _made:
            _made[model] = _make(model)
        return _made[model]


def _make(model: type[BaseModel]) -> type[pydantic.BaseModel]:
    bases = tuple(pydantic_model(one) if issubclass(one, BaseModel) else one for one in model.__bases__)
    namespace = {name: _translate(value) for name, value in vars(model).items() if name not in _COPIED_NOT}
    made: type[pydantic.BaseModel] = types.new_class(
        model.__name__, bases, exec_body=lambda body: body.update(namespace)
    )
    return made


def _translate(value: Any) -> Any:
    role = role_of(value)
    if isinstance(value, Field):
        return pydantic.Field(**value.options)
    if role == "validator":
        return pydantic.model_validator(mode="after")(value)
    if role == "serializer":
        return pydantic.model_serializer(mode="wrap")(value)
    return pydantic.field_validator(*role)(value) if isinstance(role, tuple) else value
