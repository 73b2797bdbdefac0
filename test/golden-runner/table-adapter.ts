/** How one golden table is replayed: what our code makes of the `in` of a case, in the form of the table's `out`. */
export interface TableAdapter {
  readonly table: string;
  readonly replay: (input: unknown) => unknown;
  /** The recorded `out` in the form that `replay` gives, where plain JSON is not it. */
  readonly recorded?: (out: unknown) => unknown;
  /**
   * Members, at any depth, that the table leaves out where it could not know them: compared only where they are
   * recorded.
   */
  readonly partlyRecorded?: readonly string[];
}

interface Options<Out> {
  recorded?: (out: Out) => unknown;
  partlyRecorded?: readonly string[];
}

/** An adapter for a table whose `in` and `out` are known to be of these types: its description says so. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- it names the types of a table
export function tableAdapter<In, Out = unknown>(
  table: string,
  replay: (input: In) => unknown,
  { recorded, ...options }: Options<Out> = {},
): TableAdapter {
  return {
    table,
    replay: (input) => replay(input as In),
    ...(recorded && { recorded: (out: unknown) => recorded(out as Out) }),
    ...options,
  };
}
