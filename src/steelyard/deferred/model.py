"""The names with which a model is declared as for pydantic, without importing pydantic.

    class Memory(BaseModel):
        guaranteed: Annotated[int, Field(ge=16)] = 1024

Pydantic and the models of a contract take 190 ms to load. A model of this module reads plain data itself (`plain_model.py`), and
hands everything else to the pydantic model of the same declaration (`pydantic_model.py`), which accepts, converts or explains.
Type checkers see the names of pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import AfterValidator as AfterValidator  # noqa: PLC0414
    from pydantic import BaseModel as BaseModel  # noqa: PLC0414
    from pydantic import ConfigDict as ConfigDict  # noqa: PLC0414
    from pydantic import Field as Field  # noqa: PLC0414
    from pydantic import SerializerFunctionWrapHandler as SerializerFunctionWrapHandler  # noqa: PLC0414
    from pydantic import ValidationError as ValidationError  # noqa: PLC0414
    from pydantic import field_validator as field_validator  # noqa: PLC0414
    from pydantic import model_serializer as model_serializer  # noqa: PLC0414
    from pydantic import model_validator as model_validator  # noqa: PLC0414
else:
    from collections.abc import Callable as SerializerFunctionWrapHandler  # noqa: F401

    from steelyard.deferred.constraints import AfterValidator, Field  # noqa: F401
    from steelyard.deferred.plain_model import (  # noqa: F401
        BaseModel,
        field_validator,
        model_serializer,
        model_validator,
    )

    ConfigDict = dict

    def __getattr__(name: str) -> type[Exception]:
        """`except model.ValidationError` imports pydantic when something was refused."""
        if name != "ValidationError":
            raise AttributeError(name)
        from pydantic import ValidationError  # noqa: PLC0415

        return ValidationError
