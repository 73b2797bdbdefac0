import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'yaml';
import { acceptedTypes } from './accepted-types.ts';
import { send } from './answers.ts';
import type { Mount } from './route-table.ts';

/** What the pages of an agent show. */
export interface AgentPages {
  /** As `kubelet --version` prints it. */
  version: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Useful paths, as /statusz lists them. */
  paths: readonly string[];
  /** The values of flags by name. */
  flags: Readonly<Record<string, string>>;
  hasStatusz: boolean;
  hasFlagz: boolean;
}

interface Page {
  kind: 'Statusz' | 'Flagz';
  /** What it shows, named as in the structured form. */
  content: () => object;
  /** The lines of its text form, as pairs of a name and a value. */
  lines: () => readonly (readonly [string, string])[];
}

/**
 * `/statusz` and `/flagz`, for people in text and for programs in JSON or YAML. Both accept every method. kubelet:
 * component-base/zpages
 */
export function zPageMounts(pages: AgentPages, now: () => number): Mount[] {
  const { version, startedAt, paths, flags, hasStatusz, hasFlagz } = pages;
  const statusz: Page = {
    kind: 'Statusz',
    content: () => ({
      startTime: new Date(startedAt).toISOString().replace(/\.\d+/, ''),
      uptimeSeconds: uptimeSeconds(startedAt, now()),
      goVersion: process.version,
      binaryVersion: version,
      emulationVersion: emulationVersion(version),
      paths,
    }),
    lines: () => [
      ['Started', unixDate(startedAt)],
      ['Up', uptimeText(uptimeSeconds(startedAt, now()))],
      ['Go version', process.version],
      ['Binary version', version],
      ['Emulation version', emulationVersion(version)],
      ['Paths', paths.join(' ')],
    ],
  };
  const sorted = Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1));
  const flagz: Page = { kind: 'Flagz', content: () => ({ flags: Object.fromEntries(sorted) }), lines: () => sorted };
  return [
    ...(hasStatusz ? [mountOf('/statusz', ['statusz'], statusz)] : []),
    // A client that may read the configuration may read the flags.
    ...(hasFlagz ? [mountOf('/flagz', ['configz'], flagz)] : []),
  ];
}

const warning =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

const mountOf = (path: string, subresources: Mount['subresources'], page: Page): Mount => ({
  path,
  subresources,
  handle: ({ request, response, query }) => {
    answer(page, { request, response, isPretty: isPretty(request, query) });
  },
});

interface Asked {
  request: IncomingMessage;
  response: ServerResponse;
  /** True to indent JSON. */
  isPretty: boolean;
}

function answer(page: Page, { request, response, isPretty }: Asked): void {
  const { kind } = page;
  const accept = request.headers.accept ?? '';
  const found = chosenForm(accept === '' ? '*/*' : accept, (form, target) => isServed(kind, form, target));
  if (found === undefined) {
    refuse(response, accept, isPretty);
    return;
  }
  if (found.form === 'text/plain') {
    send(response, 200, { 'content-type': 'text/plain; charset=utf-8' }, pageText(page));
    return;
  }
  const { form, version } = found;
  const value = { kind, apiVersion: `${group}/${version}`, metadata: { name: 'kubelet' }, ...page.content() };
  const headers = {
    'content-type': `${form};g=${group};v=${version};as=${kind}`,
    ...(version === 'v1alpha1' && { warning: `299 - "${deprecation(kind)}"` }),
  };
  send(response, 200, headers, form === 'application/json' ? jsonText(value, isPretty) : yamlText(value));
}

const group = 'config.k8s.io';
const forms = ['application/json', 'application/yaml', 'text/plain'] as const;
type Form = (typeof forms)[number];

/** The kind that a client asks for with `as`, `g` and `v`. */
interface Target {
  as: string;
  g: string;
  v: string;
}

function isServed(kind: string, form: Form, target: Target | undefined): boolean {
  if (target === undefined) return form === 'text/plain';
  if (form === 'text/plain') return false;
  return target.as === kind && target.g === group && ['v1alpha1', 'v1beta1'].includes(target.v);
}

/** The first form that the client accepts and that is allowed. kubelet: NegotiateMediaTypeOptions */
function chosenForm(
  accept: string,
  isAllowed: (form: Form, target: Target | undefined) => boolean,
): { form: Form; version: string } | undefined {
  for (const { type, parameters } of acceptedTypes(accept)) {
    const [as, g, v] = [parameters.get('as'), parameters.get('g'), parameters.get('v')];
    const isPlain = as === undefined && g === undefined && v === undefined;
    const target = isPlain ? undefined : { as: as ?? '', g: g ?? '', v: v ?? '' };
    const form = forms.find((one) => includesType(type, one) && isAllowed(one, target));
    if (form !== undefined) return { form, version: v ?? '' };
  }
  return undefined;
}

const includesType = (type: string, form: Form): boolean =>
  [form, '*/*', `${form.slice(0, form.indexOf('/'))}/*`].includes(type);

const deprecation = (kind: string): string =>
  `This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version.`;

/** Answers 406 in a form that the client accepts, or else as indented JSON. kubelet: responsewriters ErrorNegotiated */
function refuse(response: ServerResponse, accept: string, isPretty: boolean): void {
  const found = chosenForm(accept, (_form, target) => target === undefined);
  if (found?.form === 'application/yaml') {
    send(response, 406, { 'content-type': 'application/yaml' }, notAcceptableYAML);
    return;
  }
  const text = jsonText(notAcceptable, found === undefined || isPretty);
  send(response, 406, { 'content-type': 'application/json' }, text);
}

const notAcceptable = {
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message: `only the following media types are accepted: ${forms.join(', ')}`,
  reason: 'NotAcceptable',
  code: 406,
};
/** Folded as libyaml folds a line of more than 80 characters. */
const notAcceptableYAML = `apiVersion: v1
code: 406
kind: Status
message: 'only the following media types are accepted: application/json, application/yaml,
  text/plain'
metadata: {}
reason: NotAcceptable
status: Failure
`;

/** kubelet: responsewriters isPrettyPrint */
function isPretty({ headers }: IncomingMessage, query: URLSearchParams): boolean {
  const asked = query.get('pretty');
  if (asked !== null && asked !== '') return asked === '1' || asked === 'true';
  return /^(?:curl|Wget|Mozilla\/5\.0)/.test(headers['user-agent'] ?? '');
}

const jsonText = (value: object, isPretty: boolean): string =>
  isPretty ? JSON.stringify(value, undefined, 2) : `${JSON.stringify(value)}\n`;

/** With a random separator, so that nobody parses the page. */
function pageText({ kind, lines }: Page): string {
  const separators = [':', ': ', '=', ' '];
  const separator = separators[Math.floor(Math.random() * separators.length)] ?? ':';
  const [before, space] = kind === 'Statusz' ? ['\n', ' '] : ['', ''];
  const shown = lines().map(([name, value]) => `${name}${separator}${space}${value}\n`);
  return `\nkubelet ${kind.toLowerCase()}\n${warning}\n${before}${shown.join('')}`;
}

const uptimeSeconds = (startedAt: number, now: number): number => Math.max(0, Math.floor((now - startedAt) / 1000));

function uptimeText(seconds: number): string {
  const part = (value: number): string => String(value).padStart(2, '0');
  return `${Math.floor(seconds / 3600)} hr ${part(Math.floor(seconds / 60) % 60)} min ${part(seconds % 60)} sec`;
}

/** Go's UnixDate, such as `Mon Jan  2 15:04:05 UTC 2006`. */
function unixDate(ms: number): string {
  const [weekday = '', day = '', month = '', year = '', time = ''] = new Date(ms).toUTCString().split(/,? /);
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}

const emulationVersion = (version: string): string => /\d+\.\d+/.exec(version)?.[0] ?? '';

/** As sigs.k8s.io/yaml writes an object whose members are texts, numbers, lists of texts or maps of texts. */
function yamlText(value: object, indent = ''): string {
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  const lines = entries.map(([key, member]: [string, unknown]) => {
    if (Array.isArray(member))
      return `${indent}${key}:\n${member.map((one) => `${indent}- ${scalar(one)}\n`).join('')}`;
    if (typeof member === 'object' && member !== null) return `${indent}${key}:\n${yamlText(member, `${indent}  `)}`;
    return `${indent}${key}: ${scalar(member)}\n`;
  });
  return lines.join('');
}

/** A text that would be read as something else is quoted. */
function scalar(value: unknown): string {
  const text = String(value);
  if (typeof value !== 'string') return text;
  if (text === '' || /[\n\t]/.test(text)) return JSON.stringify(text);
  const read = readPlain(text);
  if (read === text) return text;
  return typeof read === 'object' ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text);
}

/** What YAML 1.1 reads from a text without quotes: an object if it is not a scalar. */
function readPlain(text: string): unknown {
  try {
    const { only } = parse(`only: ${text}`, { version: '1.1' }) as { only: unknown };
    return only instanceof Date ? 'time' : typeof only === 'string' && only !== text ? {} : only;
  } catch {
    return {};
  }
}
