import { readFile } from 'node:fs/promises';
import { userNamespaceLength, type UserNamespaceIDs } from '../engine/userns/user-namespaces.ts';
import { findProgram, searchFolders } from '../process/find-program.ts';
import { systemClock } from '../clock.ts';
import { boundedOutput } from '../engine/host/bounded-program.ts';
import { errorMessage, UserError } from '../errors.ts';

interface Settings {
  maxPods: number;
  userNamespaces?: { idsPerPod?: number } | undefined;
}

/** Files and programs of the machine. */
interface Host {
  passwdFile: string;
  folders: readonly string[];
}

const thisHost = (): Host => ({ passwdFile: '/etc/passwd', folders: searchFolders(process.env['PATH']) });
const user = 'kubelet';
const endOfIDs = 2 ** 32;
const hint = `Give the user ${user} one range in /etc/subuid and the same in /etc/subgid, or remove the user.`;

/**
 * The ids for pods with user namespaces: those that /etc/subuid gives the user kubelet, or else all but the first
 * `idsPerPod`. Rejects with a `UserError` if there are too few for `maxPods`. kubelet: kubelet_pods.go
 * getKubeletMappings, userns/userns_manager.go MakeUserNsManager
 */
export async function findUserNamespaceIDs(
  { maxPods, userNamespaces }: Settings,
  host: Host = thisHost(),
): Promise<UserNamespaceIDs> {
  const length = userNamespaces?.idsPerPod ?? userNamespaceLength;
  const { first, count } = (await subordinateIDs(host)) ?? { first: length, count: endOfIDs - length };
  const refuse = (problem: string): never => {
    throw new UserError(`ids of user namespaces: ${count} from ${first} on ${problem}`, { hint });
  };
  if (first % length !== 0 || first < length) refuse(`must begin at a multiple of ${length}`);
  if (count % length !== 0) refuse(`are no multiple of ${length}`);
  if (count / length < maxPods) refuse(`are not enough for ${maxPods} pods (maxPods) with ${length} each`);
  return { first, end: first + count, length };
}

/** Resolves with undefined if the user or the program getsubids is missing. */
async function subordinateIDs({ passwdFile, folders }: Host): Promise<{ first: number; count: number } | undefined> {
  const users = await readFile(passwdFile, 'utf8').catch(() => '');
  if (!users.split('\n').some((line) => line.startsWith(`${user}:`))) return undefined;
  const getsubids = await findProgram('getsubids', folders);
  if (getsubids === undefined) return undefined;
  const [uids, gids] = await Promise.all([outputOf(getsubids, [user]), outputOf(getsubids, ['-g', user])]);
  if (uids !== gids) throw new UserError(`getsubids ${user}: ids of users and of groups differ`, { hint });
  // One line, such as "0: kubelet 65536 7208960".
  const [, first, count] = /^0: \S+ (\d{1,10}) (\d{1,10})\n?$/.exec(uids) ?? [];
  if (first !== undefined && count !== undefined) return { first: Number(first), count: Number(count) };
  throw new UserError(`getsubids ${user} must print one range of ids, but printed ${JSON.stringify(uids)}`, { hint });
}

async function outputOf(program: string, words: string[]): Promise<string> {
  const bounds = { clock: systemClock, timeoutMs: 10_000, maxOutputBytes: 4096, tooLong: 'it prints too many ranges' };
  try {
    return (await boundedOutput(program, words, { ...bounds, quotesErrors: true })).toString();
  } catch (error) {
    throw new UserError(`${program} ${words.join(' ')}: ${errorMessage(error).trim()}`, { hint, cause: error });
  }
}
