import { shownURL } from '../engine/config/http/url.ts';

/**
 * Takes what may be secret in manifest URLs and headers out of the arguments of this process, which every user of the
 * machine can list. They were to be seen for a moment, so that files are the better place.
 */
export function hideSecretArguments(argv: readonly string[]): void {
  const shown = shownArguments(argv);
  if (shown.some((argument, index) => argument !== argv[index]))
    process.title = ['kubelet-ts', ...shown.slice(2)].join(' ');
}

/** The arguments as everybody may see them. */
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
