import { UserError } from '../../errors.ts';

/**
 * A path into a JSON value, in kubectl's form: `.status.conditions[?(@.type=="Ready")].status`.
 * kubectl: client-go util/jsonpath/parser.go, for the steps below.
 */
export type JSONPath = readonly Step[];

type Step =
  | { is: 'field'; name: string }
  /** All members or items. */
  | { is: 'all' }
  /** This value and everything in it. */
  | { is: 'descend' }
  /** Items from `start` to before `end`, every `step`. Negative indexes count from the end. */
  | { is: 'slice'; start: number | undefined; end: number | undefined; step: number }
  | { is: 'index'; index: number }
  | { is: 'filter'; path: JSONPath; operator: Operator | undefined; value: unknown };

type Operator = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** Parses a path, with or without `{}`, and with or without its first dot. Throws a `UserError` if it is not one. */
export function parseJSONPath(text: string): JSONPath {
  const path = text.trim().replace(/^\{(.*)\}$/s, '$1');
  return parseSteps(/^[.[$@]/.test(path) ? path : `.${path}`, text);
}

/** All values at a path. Empty if nothing is there. */
export function valuesAt(root: unknown, path: JSONPath): unknown[] {
  return path.reduce<unknown[]>((values, step) => values.flatMap((value) => follow(value, step)), [root]);
}

/** Formats a value as `kubectl -o jsonpath` does: strings unchanged, other values as JSON. */
export function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? '' : JSON.stringify(value);
}

function parseSteps(path: string, whole: string): JSONPath {
  const steps: Step[] = [];
  let rest = path.replace(/^[$@]/, '');
  while (rest !== '') {
    const parsed = parseStep(rest);
    if (parsed === undefined) throw notAPath(whole, rest);
    steps.push(...parsed.steps);
    rest = rest.slice(parsed.length);
  }
  return steps;
}

function parseStep(rest: string): { steps: Step[]; length: number } | undefined {
  const [dotted = '', dots = '', name] = /^(\.{1,2})(\*|(?:\\.|[^.[\]\\\s{}()])+)?/.exec(rest) ?? [];
  if (dotted !== '') {
    if (name === undefined && dots === '.' && rest.length > 1 && rest[1] !== '[') return undefined;
    const descend: Step[] = dots === '..' ? [{ is: 'descend' }] : [];
    return { steps: [...descend, ...(name === undefined ? [] : [fieldStep(name)])], length: dotted.length };
  }
  const [filter = '', condition] = /^\[\?\(((?:"[^"]*"|'[^']*'|[^"'])*?)\)\]/.exec(rest) ?? [];
  if (condition !== undefined) return { steps: [filterStep(condition)], length: filter.length };
  const [bracket = '', inside] = /^\[((?:'(?:\\.|[^'])*'|"(?:\\.|[^"])*"|[^\]'"])*)\]/.exec(rest) ?? [];
  const step = inside === undefined ? undefined : bracketStep(inside.trim());
  return step && { steps: [step], length: bracket.length };
}

const fieldStep = (name: string): Step =>
  name === '*' ? { is: 'all' } : { is: 'field', name: name.replaceAll(/\\(.)/g, '$1') };

function bracketStep(inside: string): Step | undefined {
  if (inside === '*') return { is: 'all' };
  if (/^-?\d+$/.test(inside)) return { is: 'index', index: Number(inside) };
  if (/^(?:'(?:\\.|[^'])*'|"(?:\\.|[^"])*")$/.test(inside)) {
    return { is: 'field', name: inside.slice(1, -1).replaceAll(/\\(.)/g, '$1') };
  }
  const slice = /^(-?\d+)?:(-?\d+)?(?::(\d+))?$/.exec(inside);
  if (slice === null) return undefined;
  const parts: (string | undefined)[] = slice.slice(1);
  const [start, end, step] = parts.map((part) => (part === undefined ? undefined : Number(part)));
  return { is: 'slice', start, end, step: step ?? 1 };
}

function filterStep(condition: string): Step {
  const [, left = '', operator, right = ''] =
    /^\s*(@[^=!<>]*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.*?)\s*)?$/.exec(condition) ?? [];
  if (left === '') throw notAPath(`[?(${condition})]`, condition);
  const value = operator === undefined ? undefined : literal(right, condition);
  return { is: 'filter', path: parseSteps(left, condition), operator: operator as Operator | undefined, value };
}

function literal(text: string, condition: string): unknown {
  if (/^(?:'[^']*'|"[^"]*")$/.test(text)) return text.slice(1, -1);
  if (/^(true|false|null|-?\d+(\.\d+)?)$/.test(text)) return JSON.parse(text);
  throw notAPath(condition, text);
}

function follow(value: unknown, step: Step): unknown[] {
  switch (step.is) {
    case 'field':
      return isRecord(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case 'all':
      return children(value);
    case 'descend':
      return [value, ...children(value).flatMap((child) => follow(child, step))];
    case 'index':
      return Array.isArray(value) && step.index < value.length && step.index >= -value.length
        ? [value.at(step.index)]
        : [];
    case 'slice':
      return Array.isArray(value)
        ? value.slice(step.start, step.end).filter((_item, index) => index % Math.max(1, step.step) === 0)
        : [];
    case 'filter':
      return children(value).filter((child) => isMet(valuesAt(child, step.path), step.operator, step.value));
  }
}

function isMet(found: readonly unknown[], operator: Operator | undefined, wanted: unknown): boolean {
  const [value] = found;
  if (operator === undefined) return found.length > 0;
  if (found.length === 0) return false;
  if (operator === '==') return value === wanted;
  if (operator === '!=') return value !== wanted;
  if (typeof value !== typeof wanted || (typeof value !== 'number' && typeof value !== 'string')) return false;
  const order = compareValues(value, wanted);
  return operator === '<' ? order < 0 : operator === '<=' ? order <= 0 : operator === '>' ? order > 0 : order >= 0;
}

/** Orders numbers by size and all else by text. */
export function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [first, second] = [valueText(a), valueText(b)];
  return first === second ? 0 : first < second ? -1 : 1;
}

function children(value: unknown): unknown[] {
  return Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notAPath(text: string, rest: string): UserError {
  return new UserError(`"${text}" is not a supported path, from "${rest}" on`, {
    hint: `Write it as .metadata.name, .spec.containers[*].image or .status.conditions[?(@.type=="Ready")].status.`,
  });
}
