import type { kubeletConfigurationFields } from './fields.ts';

type Objects = typeof kubeletConfigurationFields;

interface Scalars {
  string: string;
  bool: boolean;
  int32: number;
  int64: number;
  uint32: number;
  float64: number;
  quantity: string;
  time: string;
  /** Milliseconds. */
  duration: number;
  durationOrNanoseconds: number;
}

type ValueOf<Kind> = Kind extends `${'*' | '!'}${infer Pointed}`
  ? ValueOf<Pointed>
  : Kind extends `[]${infer Element}`
    ? ValueOf<Element>[]
    : Kind extends `map ${infer Element}`
      ? Record<string, ValueOf<Element>>
      : Kind extends keyof Scalars
        ? Scalars[Kind]
        : Kind extends keyof Objects
          ? Complete<Objects[Kind]>
          : never;

/** Pointer fields without a default can stay absent. Every other field has a value once the defaults are set. */
type OptionalNames<Fields> = {
  [Name in keyof Fields]: Fields[Name] extends { default: unknown }
    ? never
    : Fields[Name] extends { kind: `*${string}` }
      ? Name
      : never;
}[keyof Fields];

type KindOf<Row> = Row extends { kind: infer Kind } ? Kind : never;

type Complete<Fields> = { [Name in Exclude<keyof Fields, OptionalNames<Fields>>]: ValueOf<KindOf<Fields[Name]>> } & {
  [Name in OptionalNames<Fields>]?: ValueOf<KindOf<Fields[Name]>>;
};

/**
 * The configuration with every default set. Durations are milliseconds. A field without a default has Go's zero value.
 * If `containerRuntimeEndpoint` is empty, the agent detects a runtime.
 */
export type KubeletConfiguration = Complete<Objects['KubeletConfiguration']>;

/** A part of a configuration as written. Null removes the value of an earlier file. */
export type GivenConfiguration = Given<KubeletConfiguration>;

type Given<Value> = {
  [Name in keyof Value]?:
    | (NonNullable<Value[Name]> extends readonly unknown[]
        ? Value[Name]
        : NonNullable<Value[Name]> extends object
          ? Given<NonNullable<Value[Name]>>
          : Value[Name])
    | null;
};
