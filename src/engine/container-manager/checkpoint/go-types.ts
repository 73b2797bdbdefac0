/** A Go type that occurs in checkpoints. `name` is the name that Go prints, for example `v1.ResourceName`. */
export type GoType =
  | { readonly kind: 'string' | 'int' | 'uint64'; readonly name: string }
  /** As base64 in JSON and in a `GoValue`. */
  | { readonly kind: 'bytes'; readonly name: string }
  | { readonly kind: 'map'; readonly name: string; readonly key: 'string' | 'int'; readonly value: GoType }
  | { readonly kind: 'slice'; readonly name: string; readonly element: GoType }
  | { readonly kind: 'struct'; readonly name: string; readonly fields: readonly GoField[]; readonly isPointer?: true };

export interface GoField {
  readonly name: string;
  readonly json: string;
  readonly type: GoType;
  /** If true, an empty value is left out of the JSON. */
  readonly omitEmpty?: true;
}

/** A value of a `GoType`: string, number, map, list, or fields by name. Undefined is nil. */
export type GoValue = string | bigint | Map<string, GoValue> | readonly GoValue[] | GoStruct | undefined;
export interface GoStruct {
  readonly [name: string]: GoValue;
}
