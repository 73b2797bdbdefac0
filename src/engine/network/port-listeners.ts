import { createReadStream } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Pod } from '../../api/types.ts';

/** A socket of this machine that receives what a host port of a pod would. */
interface Listener {
  /** Position of the port in the manifest. */
  field: string;
  /** For example `18090/TCP`. */
  port: string;
  /** For example `sshd (PID 812)`. Undefined if this user may not see it. */
  program: string | undefined;
}

/** Limits for a machine with more connections or processes than a box has. */
const maxSockets = 100_000;
const maxProcesses = 5000;

/** Finds the programs that listen on host ports of a pod with its own network. The pod would get their packets. */
export async function findPortListeners(pod: Pod, procFolder = '/proc'): Promise<Listener[]> {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return [];
  const sockets = await readSockets(procFolder, new Set(wanted.map(({ key }) => key)));
  const taken = wanted.flatMap(({ field, key, hostIP }) => {
    const socket = sockets.find((one) => one.key === key && isSameAddress(one.address, hostIP));
    return socket === undefined ? [] : [{ field, port: key, inode: socket.inode }];
  });
  if (taken.length === 0) return [];
  const programs = await findPrograms(procFolder, new Set(taken.map(({ inode }) => inode)));
  return taken.map(({ field, port, inode }) => ({ field, port, program: programs.get(inode) }));
}

/** A sentence for an event and for `validate`. */
export function describeListener({ port, program = 'another program' }: Listener): string {
  return `${program} of this node listens on host port ${port}: the pod gets its packets while it runs`;
}

export const listenerHint = 'Choose another hostPort, or stop the program: ss -lntup';

function hostPortsOf({ spec }: Pod): { field: string; key: string; hostIP: string }[] {
  if (spec.hostNetwork === true) return [];
  return spec.containers.flatMap(({ ports = [] }, container) =>
    ports.flatMap(({ hostPort = 0, protocol = 'TCP', hostIP = '' }, index) =>
      hostPort === 0
        ? []
        : [{ field: `spec.containers[${container}].ports[${index}].hostPort`, key: `${hostPort}/${protocol}`, hostIP }],
    ),
  );
}

interface Socket {
  /** Port and protocol, such as `53/UDP`. */
  key: string;
  address: string;
  inode: string;
}

async function readSockets(procFolder: string, keys: ReadonlySet<string>): Promise<Socket[]> {
  const files = ['tcp', 'tcp6', 'udp', 'udp6'].map((name) => readTable(join(procFolder, 'net', name), keys));
  return (await Promise.all(files)).flat();
}

/** Columns of /proc/net/tcp: number, local address, remote address, state, four of queues and timers, inode. */
async function readTable(file: string, keys: ReadonlySet<string>): Promise<Socket[]> {
  const protocol = file.includes('udp') ? 'UDP' : 'TCP';
  // A TCP socket that listens, and a UDP socket that is not connected.
  const waiting = protocol === 'TCP' ? '0A' : '07';
  const found: Socket[] = [];
  let count = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const [address = '', port = ''] = local.split(':');
      const key = `${parseInt(port, 16)}/${protocol}`;
      if (state === waiting && keys.has(key)) found.push({ key, address: addressText(address), inode });
      count++;
      if (count > maxSockets) break;
    }
  } catch {
    // A kernel without IPv6 has no tcp6.
  }
  return found;
}

/** An IPv4 address, or '' for every address. Addresses of IPv6 are rarely in a manifest, and count as every address. */
function addressText(hex: string): string {
  if (hex.length !== 8 || hex === '00000000') return '';
  return (hex.match(/../g) ?? [])
    .map((byte) => parseInt(byte, 16))
    .toReversed()
    .join('.');
}

const isSameAddress = (address: string, hostIP: string): boolean =>
  address === '' || ['', '0.0.0.0', '::', address].includes(hostIP);

/** Returns the programs that have these sockets, by inode. */
async function findPrograms(procFolder: string, inodes: ReadonlySet<string>): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const pids = (await readdir(procFolder).catch(() => [])).filter((name) => /^\d+$/.test(name)).slice(0, maxProcesses);
  for (const pid of pids) {
    if (found.size === inodes.size) break;
    const folder = join(procFolder, pid, 'fd');
    const links = await Promise.all(
      (await readdir(folder).catch(() => [])).map((fd) => readlink(join(folder, fd)).catch(() => '')),
    );
    for (const link of links) {
      const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? '';
      if (!inodes.has(inode) || found.has(inode)) continue;
      const name = (await readFile(join(procFolder, pid, 'comm'), 'utf8').catch(() => '')).trim();
      found.set(inode, `${name} (PID ${pid})`);
    }
  }
  return found;
}
