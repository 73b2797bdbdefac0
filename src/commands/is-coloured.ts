import type { OutputStream } from './deps.ts';

/** True for a terminal whose user did not refuse colours: https://no-color.org, by which an empty NO_COLOR is none. */
export function isColoured({ isTTY }: OutputStream): boolean {
  return isTTY === true && (process.env['NO_COLOR'] ?? '') === '';
}
