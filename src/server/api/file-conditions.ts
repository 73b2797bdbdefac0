import type { IncomingHttpHeaders } from 'node:http';

/**
 * The status that the conditions of a request for a file lead to. Returns undefined if its content is wanted. Files
 * have no entity tags. kubelet: Go's net/http checkPreconditions
 */
export function conditionStatus(headers: IncomingHttpHeaders, mtimeMs: number): 304 | 412 | undefined {
  const { 'if-match': match = '', 'if-none-match': noneMatch = '' } = headers;
  if (match === '' ? isModified(headers['if-unmodified-since'], mtimeMs) : !hasStar(match)) return 412;
  const isKnown = noneMatch === '' ? isUnmodified(headers, mtimeMs) : hasStar(noneMatch);
  return isKnown ? 304 : undefined;
}

/** The range that is wanted of a file that is as old as the client believes. kubelet: Go's net/http checkIfRange */
export function wantedRange(headers: IncomingHttpHeaders, mtimeMs: number): string | undefined {
  const { range, 'if-range': condition } = headers;
  // Node's types name no such header, but several of them would be a list.
  if (typeof condition !== 'string' || condition === '') return range;
  return httpTime(condition) === wholeSeconds(mtimeMs) ? range : undefined;
}

/** True if the client has it as of now. kubelet: Go's net/http checkIfModifiedSince */
export function isUnmodified(headers: IncomingHttpHeaders, mtimeMs: number): boolean {
  const sinceMs = httpTime(headers['if-modified-since']);
  return hasTime(mtimeMs) && wholeSeconds(mtimeMs) <= sinceMs;
}

const isModified = (since: string | undefined, mtimeMs: number): boolean =>
  hasTime(mtimeMs) && wholeSeconds(mtimeMs) > httpTime(since);

/** False for the epoch, which Go takes for a time that is not known. */
export const hasTime = (mtimeMs: number): boolean => mtimeMs !== 0;

/** Times of HTTP have no parts of a second. */
const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** True for a list with `*` that follows only well-formed entity tags. */
const hasStar = (list: string): boolean => /^(?:[\s,]|(?:W\/)?"[!#-~\u0080-\u00ff]*")*\*/.test(list);

const clock = String.raw`\d\d:\d\d:\d\d`;
const timeForms: readonly RegExp[] = [
  new RegExp(String.raw`^\w{3}, \d\d \w{3} \d{4} ${clock} GMT$`),
  new RegExp(String.raw`^\w+, \d\d-\w{3}-\d\d ${clock} GMT$`),
  new RegExp(String.raw`^\w{3} \w{3} [ \d]\d ${clock} \d{4}$`),
];

/** Milliseconds since the epoch. NaN for a text in none of the forms of HTTP. kubelet: Go's net/http ParseTime */
function httpTime(text = ''): number {
  if (!timeForms.some((form) => form.test(text))) return NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
