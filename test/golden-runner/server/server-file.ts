import type { ReplayedCase } from '../replay-case.ts';

/** A kind of file with recordings of a server. */
export interface ServerFile {
  /** True for the content of such a file. */
  holds(content: object): boolean;
  /** Its cases, each to be run on its own, in order. `end` ends what they share. */
  replay(content: object): { cases: ReplayedCase[]; end?: () => Promise<void> };
}

/** For a file whose content is known to be of this type: its keys say so, such as `cases` and `setup.servers`. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- callers name the type of the content
export function serverFile<Content extends object>(
  keys: readonly string[],
  replay: (content: Content) => ReturnType<ServerFile['replay']>,
): ServerFile {
  return {
    holds: (content) => keys.every((key) => hasMember(content, key)),
    replay: (content) => replay(content as Content),
  };
}

function hasMember(content: unknown, path: string): boolean {
  const member = path.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
  }, content);
  return member !== undefined;
}
