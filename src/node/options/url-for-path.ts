import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { UserError } from '../../errors.ts';
import { shownURL } from '../../origins/http/url.ts';

/** True for a text such as `https://box.example/pod.yaml`. */
export const isURL = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

const message = 'a URL is neither a file nor a folder';
const hint =
  'run, run-once and validate read it with --manifest-url URL; others from stdin: curl -fsS URL | kubelet-ts apply -f -';

/** The problem of a URL where only paths are read. Shows no password. */
export function urlForPath(url: string): ManifestProblem {
  const origin = URL.canParse(url) ? shownURL(new URL(url)) : '';
  return { origin, message, hint, severity: 'error' };
}

/** Throws a `UserError` if a path is a URL. The agent would wait for a file with that name. */
export function refuseURLs(paths: readonly string[]): void {
  if (paths.some(isURL)) throw new UserError(message, { hint });
}
