/** A value of JSON, with the literals of its numbers. */
export type GoJSON = string | boolean | null | NumberLiteral | readonly GoJSON[] | Members;

/** A number as it is written, such as `1e3`. */
export class NumberLiteral {
  constructor(readonly text: string) {}
}

/** An object. Its members are in the order of the text, with those of the same name. */
export class Members {
  constructor(readonly list: readonly (readonly [string, GoJSON])[]) {}
}

/** Reads a text that `goJSONError` found to be JSON. */
export function readGoJSON(text: string): GoJSON {
  const tokens = text.matchAll(/[{}[\]]|"(?:[^"\\]+|\\.)*"|[-+.\w]+/gs);
  const next = (): string => tokens.next().value?.[0] ?? '';
  return valueOf(next(), next);
}

function valueOf(token: string, next: () => string): GoJSON {
  if (token === '{') {
    const list: [string, GoJSON][] = [];
    for (let name = next(); name !== '}'; name = next()) list.push([stringOf(name), valueOf(next(), next)]);
    return new Members(list);
  }
  if (token === '[') {
    const list: GoJSON[] = [];
    for (let element = next(); element !== ']'; element = next()) list.push(valueOf(element, next));
    return list;
  }
  if (token.startsWith('"')) return stringOf(token);
  if (token === 'null') return null;
  return token === 'true' || token === 'false' ? token === 'true' : new NumberLiteral(token);
}

function stringOf(token: string): string {
  return token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1);
}
