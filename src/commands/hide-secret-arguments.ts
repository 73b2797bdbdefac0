import { shownURL } from '../origins/http/url.ts';

/**
 * Hides secrets of manifest URLs and headers in this process's arguments, which every user can list. They are visible
 * for a moment, so files are safer.
 */
export function hideSecretArguments(argv: readonly string[]): void {
  const shown = shownArguments(argv);
  if (shown.some((argument, index) => argument !== argv[index]))
    process.title = ['kubelet-ts', ...shown.slice(2)].join(' ');
}

/** The arguments with secrets hidden. */
export function shownArguments(argv: readonly string[]): string[] {
  return argv.map((argument, index) => {
    const [flag = '', value] = /^(--[^=]+)=(.*)$/s.exec(argument)?.slice(1) ?? [];
    if (value !== undefined) return `${flag}=${shownValue(flag, value)}`;
    return shownValue(argv[index - 1] ?? '', argument);
  });
}

function shownValue(name: string, value: string): string {
  const flag = name.replaceAll('_', '-');
  if (flag === '--manifest-url-header') return value.replace(/:.*$/s, ': …');
  if (flag !== '--manifest-url') return value;
  return URL.canParse(value) ? shownURL(new URL(value)) : value;
}
