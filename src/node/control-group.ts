import { readFile } from 'node:fs/promises';
import { errorMessage, UserError } from '../errors.ts';
import type { ControlGroup } from '../server/control/group-socket.ts';

/** The largest group id that is not reserved. */
const maxGroupId = 0xffff_fffe;

/** The group that `controlGroup` names, by name or id. Rejects with a `UserError` if this machine does not have it. */
export async function findControlGroup(name: string, file = '/etc/group'): Promise<ControlGroup | undefined> {
  if (name === '') return undefined;
  if (/^\d+$/.test(name)) return { name, gid: groupIdOf(name) };
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`controlGroup: ${file} cannot be read: ${errorMessage(error)}`, { hint, cause: error });
  });
  const gid = groupIdIn(text, name);
  if (gid === undefined) throw new UserError(`controlGroup: ${file} has no group "${name}"`, { hint });
  return { name, gid };
}

const hint = 'Create it with groupadd. For a group from elsewhere, such as LDAP, give its number.';

function groupIdOf(text: string): number {
  const gid = Number(text);
  if (gid <= maxGroupId) return gid;
  throw new UserError(`controlGroup: ${text} is not the number of a group`, { hint: `It is at most ${maxGroupId}.` });
}

/** The id of a group in the text of `/etc/group`. Lines are `name:password:gid:members`. */
function groupIdIn(text: string, name: string): number | undefined {
  const lines = text.split('\n').map((line) => line.split(':'));
  const [, , gid = ''] = lines.find(([first]) => first === name) ?? [];
  return /^\d+$/.test(gid) ? Number(gid) : undefined;
}
