/** One media type of an Accept header. */
export interface AcceptedType {
  /** Such as `text/plain`. */
  type: string;
  /** With `q`, if it is given. */
  parameters: ReadonlyMap<string, string>;
}

/** Parses an Accept header. Returns its media types, highest weight first. */
export function acceptedTypes(header: string): AcceptedType[] {
  return header
    .split(',')
    .map((one) => {
      const [type = '', ...rest] = one.split(';').map((part) => part.trim());
      const parameters = new Map(
        rest.map((part) => {
          const [name = '', value = ''] = part.split('=').map((side) => side.trim());
          return [name, value.replace(/^"(.*)"$/, '$1')];
        }),
      );
      const weight = Number(parameters.get('q') ?? 1);
      return { type, parameters, weight: Number.isNaN(weight) ? 1 : weight };
    })
    .sort((a, b) => b.weight - a.weight);
}
