import { createHash } from 'node:crypto';
import { readRegularFile } from '../../files/regular-file.ts';
import { errorMessage, UserError } from '../../errors.ts';
import type { User } from './user.ts';

const maxBytes = 1024 * 1024;

/** The users of a token file. Keeps no token, only their hashes, so that every lookup takes the same time. */
export class TokenUsers {
  private readonly byHash: ReadonlyMap<string, User>;

  constructor(users: ReadonlyMap<string, User>) {
    this.byHash = new Map([...users].map(([token, user]) => [hashOf(token), user]));
  }

  get isEmpty(): boolean {
    return this.byHash.size === 0;
  }

  userOf(token: string): User | undefined {
    return this.byHash.get(hashOf(token));
  }
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('base64');

/** Rejects with a `UserError` that names file and line, never a token. */
export async function readTokenFile(path: string): Promise<TokenUsers> {
  let text: string;
  try {
    text = (await readRegularFile(path, maxBytes, { followLinks: true })).toString();
  } catch (cause) {
    throw new UserError(`the token file cannot be read: ${errorMessage(cause)}`, {
      hint: 'Correct the path or the mode of the file that --token-auth-file names.',
      cause,
    });
  }
  return new TokenUsers(parseTokens(text, path));
}

/**
 * Users by token, from lines `token,user,uid,"group1,group2"`. Throws a `UserError`. The format is the API server's:
 * apiserver token/tokenfile/tokenfile.go
 */
export function parseTokens(text: string, path: string): Map<string, User> {
  const users = new Map<string, User>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const at = `${path}: line ${index + 1}`;
    const fields = csvFields(line);
    if (fields === undefined) throw new UserError(`${at}: a quote is not closed`);
    const [token = '', name = '', uid, groups = ''] = fields.map((field) => field.trim());
    if (uid === undefined) throw new UserError(`${at}: expected token,user,uid and, in quotes, groups`);
    if (token === '') throw new UserError(`${at}: the token is empty`);
    if (name === '') throw new UserError(`${at}: the user is empty`);
    if (users.has(token)) throw new UserError(`${at}: the token occurs twice`);
    users.set(token, { name, groups: groups === '' ? [] : groups.split(',').map((group) => group.trim()) });
  }
  return users;
}

/** Returns undefined if a quote is not closed. */
function csvFields(line: string): string[] | undefined {
  const fields: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:,|$)/.exec(rest);
    const match = quoted ?? /^([^,]*)(?:,|$)/.exec(rest);
    const field = match?.[1] ?? '';
    if (quoted === null && field.trimStart().startsWith('"')) return undefined;
    fields.push(quoted === null ? field : field.replaceAll('""', '"'));
    const whole = match?.[0] ?? '';
    if (!whole.endsWith(',')) return fields;
    rest = rest.slice(whole.length);
  }
}
