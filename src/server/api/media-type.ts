const token = String.raw`[\w!#$%&'*+.^\x60|~-]+`;
const parameter = new RegExp(String.raw`^\s*;\s*(${token})\s*=\s*(?:${token}|"(?:[^"\\\r\n]|\\.)*")`);

const invalidParameter = 'invalid media parameter';

interface MediaType {
  /** In lower case. Empty if it is not read, for most problems. */
  type: string;
  /** Undefined if it is well formed. */
  problem: string | undefined;
}

/** The type in a Content-Type header, without its parameters. kubelet: Go's mime ParseMediaType */
export function parseMediaType(text: string): MediaType {
  const end = text.includes(';') ? text.indexOf(';') : text.length;
  const type = text.slice(0, end).trim().toLowerCase();
  const problem = typeProblem(type) ?? parametersProblem(text.slice(end));
  const isRead = problem === undefined || problem === invalidParameter;
  return { type: isRead ? type : '', problem: problem && `mime: ${problem}` };
}

function typeProblem(type: string): string | undefined {
  const [, first = '', rest = ''] = new RegExp(`^(${token})?(.*)$`, 's').exec(type) ?? [];
  if (first === '') return 'no media type';
  if (rest === '') return undefined;
  if (!rest.startsWith('/')) return 'expected slash after first token';
  const [, second = '', end = ''] = new RegExp(`^(${token})?(.*)$`, 's').exec(rest.slice(1)) ?? [];
  if (second === '') return 'expected token after slash';
  return end === '' ? undefined : 'unexpected content after media subtype';
}

function parametersProblem(text: string): string | undefined {
  const names = new Set<string>();
  let rest = text;
  while (rest.trim() !== '' && rest.trim() !== ';') {
    const [found, name = ''] = parameter.exec(rest) ?? [];
    if (found === undefined) return invalidParameter;
    if (names.has(name.toLowerCase())) return 'duplicate parameter name';
    names.add(name.toLowerCase());
    rest = rest.slice(found.length);
  }
  return undefined;
}
