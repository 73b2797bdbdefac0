import { shownURL } from '../origins/http/url.ts';

/**
 * Hides secrets of URLs, headers and variables in this process's arguments, which every user can list. They
 * are visible for a moment, so files are safer.
 */
export function hideSecretArguments(argv: readonly string[]): void {
  const shown = shownArguments(argv);
  if (shown.some((argument, index) => argument !== argv[index]))
    process.title = ['kubelet-ts', ...shown.slice(2)].join(' ');
}

/** The arguments with secrets hidden. */
export function shownArguments(argv: readonly string[]): string[] {
  const hide = new Map([...hidden, ...(hiddenVariables.get(argv[2] ?? '') ?? [])]);
  const shownValue = (name: string, value: string): string => hide.get(name.replaceAll('_', '-'))?.(value) ?? value;
  return argv.map((argument, index) => {
    const [, flag = '', value = ''] = /^(--[^=]+=|-e(?=.))(.*)$/s.exec(argument) ?? [];
    if (flag !== '') return flag + shownValue(flag.replace('=', ''), value);
    return shownValue(argv[index - 1] ?? '', argument);
  });
}

type Hide = (value: string) => string;

/** True if a URL has a user, a password or a query. The `ref` of a git URL is no secret. */
function holdsSecret(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, searchParams } = new URL(text);
  const isPublic = (name: string): boolean => name === 'ref' && protocol.startsWith('git+');
  return `${username}${password}` !== '' || [...searchParams.keys()].some((name) => !isPublic(name));
}

const hideHeader: Hide = (header) => header.replace(/:.*$/s, ': …');
const hideURL: Hide = (url) => (holdsSecret(url) ? shownURL(new URL(url)) : url);
const hidden: [string, Hide][] = [
  ['--manifest-url-header', hideHeader],
  ['--manifest-url', hideURL],
  ['--status-url-header', hideHeader],
  ['--status-url', hideURL],
];
const hideVariable: Hide = (variable) => variable.replace(/=.*$/s, '=…');
const hiddenEnv: [string, Hide] = ['--env', hideVariable];
/** By command. */
const hiddenVariables = new Map([
  ['run-once', [['-e', hideVariable] satisfies [string, Hide], hiddenEnv]],
  ['debug', [hiddenEnv]],
]);
