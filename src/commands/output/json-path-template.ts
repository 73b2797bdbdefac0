import { UserError } from '../../errors.ts';
import { type JSONPath, parseJSONPath, valuesAt, valueText } from './json-path.ts';

type Part =
  | { is: 'text'; text: string }
  | { is: 'path'; path: JSONPath }
  | { is: 'range'; path: JSONPath; parts: readonly Part[] };

/**
 * Parses a template such as `{range .items[*]}{.metadata.name}{"\n"}{end}`. Returns a function that fills it in.
 * Throws a `UserError` if the text is not a template. kubectl: client-go util/jsonpath
 */
export function parseTemplate(text: string): (root: unknown) => string {
  const tokens = [...text.matchAll(/\{((?:"(?:\\.|[^"\\])*"|'[^']*'|[^{}"'])*)\}|[^{}]+|[{}]/g)];
  // A template without braces is one path.
  const parts = text.includes('{')
    ? new TemplateParser(tokens).parse()
    : [{ is: 'path', path: parseJSONPath(text) } as const];
  return (root) => parts.map((part) => filled(part, root)).join('');
}

class TemplateParser {
  private readonly tokens: RegExpMatchArray[];

  constructor(tokens: RegExpMatchArray[]) {
    this.tokens = [...tokens];
  }

  parse(isInRange = false): Part[] {
    const parts: Part[] = [];
    for (let token = this.tokens.shift(); token !== undefined; token = this.tokens.shift()) {
      const [whole, inside] = token;
      if (inside?.trim() === 'end') {
        if (isInRange) return parts;
        throw broken('{end} has no {range …}');
      }
      parts.push(this.part(whole, inside?.trim()));
    }
    if (isInRange) throw broken('{range …} has no {end}');
    return parts;
  }

  private part(whole: string, inside: string | undefined): Part {
    if (inside === undefined) {
      if (whole === '{' || whole === '}') throw broken('a brace is not closed or not opened');
      return { is: 'text', text: whole };
    }
    const [, range] = /^range\s+(.*)$/s.exec(inside) ?? [];
    if (range !== undefined) return { is: 'range', path: parseJSONPath(range), parts: this.parse(true) };
    if (inside.startsWith('"') || inside.startsWith("'")) return { is: 'text', text: unquoted(inside) };
    return { is: 'path', path: parseJSONPath(inside) };
  }
}

function filled(part: Part, root: unknown): string {
  switch (part.is) {
    case 'text':
      return part.text;
    case 'path':
      return valuesAt(root, part.path).map(valueText).join(' ');
    case 'range':
      return valuesAt(root, part.path)
        .map((value) => part.parts.map((inner) => filled(inner, value)).join(''))
        .join('');
  }
}

function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1);
  try {
    return JSON.parse(text) as string;
  } catch {
    throw broken(`${text} is not a quoted string`);
  }
}

function broken(why: string): UserError {
  return new UserError(`this is not a jsonpath template: ${why}`, {
    hint: String.raw`Write it as '{range .items[*]}{.metadata.name}{"\n"}{end}'.`,
  });
}
