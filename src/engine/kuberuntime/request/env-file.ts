import { UserError } from '../../../errors.ts';

/**
 * The value of a key in the text of an environment file: lines `KEY='value'`, where a value may span lines, blank
 * lines, and comments after `#`. Nothing after the first line of the key counts. Returns undefined if the key is
 * missing or its value is empty. Throws a `UserError` for bad syntax before it. kubelet: kubelet/util/env/env_util.go
 * ParseEnv
 */
export function envFileValue(text: string, key: string): string | undefined {
  // Also inside a value, a line may end in CRLF.
  const whole = text.replaceAll('\r\n', '\n').replace(/\r$/, '');
  for (let rest = whole; rest !== '';) {
    const entry = nextEntry(rest, whole);
    if (entry.key === key) return entry.value === '' ? undefined : entry.value;
    rest = entry.rest;
  }
  return undefined;
}

interface Entry {
  /** Undefined for a blank line or a comment. */
  key?: string;
  value: string;
  rest: string;
}

/** `text` is the rest of the file `whole`. Takes linear time, because a pod may write anything into the file. */
function nextEntry(text: string, whole: string): Entry {
  const skipped = /^[ \t]*(?:#[^\n]*)?(?:\n|$)/.exec(text);
  if (skipped) return { value: '', rest: text.slice(skipped[0].length) };
  const [start = ''] = /^[^=\n]*=/.exec(text) ?? [];
  const key = start.slice(0, -1).replace(/^[ \t]+/, '');
  if (!/[^ \t]$/.test(key)) throw badLine(text, whole, "it must read NAME='value'");
  const rest = text.slice(start.length);
  // As in a shell, a space or tab after "=" makes the value empty. The rest of the line is ignored.
  const blank = /^[ \t][^\n]*\n?/.exec(rest);
  if (blank) return { key, value: '', rest: rest.slice(blank[0].length) };
  const quoted = /^'([^']*)'[ \t]*(?:#[^\n]*)?(?:\n|$)/.exec(rest);
  if (quoted === null)
    throw badLine(text, whole, 'the value must be in single quotes, with nothing but a comment after it');
  return { key, value: quoted[1] ?? '', rest: rest.slice(quoted[0].length) };
}

/** Shows nothing of the line, which may be a secret. */
function badLine(text: string, whole: string, problem: string): UserError {
  const line = whole.slice(0, whole.length - text.length).split('\n').length;
  return new UserError(`invalid environment file: line ${line}: ${problem}`, {
    hint: "Write one variable a line, such as NAME='value'.",
  });
}
