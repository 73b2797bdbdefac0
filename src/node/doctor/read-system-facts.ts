import { constants } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { computeCgroupMode } from '../../containerd/find-containerd.ts';
import { pathExists } from '../../files/path-exists.ts';
import { hasCode } from '../../errors.ts';
import { kernelTunables } from '../kernel-tunables.ts';
import { offeredControllers } from '../node-fitness.ts';
import type { CgroupFacts, KernelFacts, RightsFacts } from './checks/facts.ts';

export async function readRights(): Promise<RightsFacts> {
  const status = await readFile('/proc/self/status', 'utf8');
  return { uid: process.geteuid?.() ?? 0, capabilities: BigInt(`0x${/^CapEff:\s*(\w+)$/m.exec(status)?.[1] ?? '0'}`) };
}

/** Modules that pods need. */
const modules = ['overlay', 'br_netfilter', 'ip_tables', 'nf_tables'];
const sysctlNames = [...Object.keys(kernelTunables), 'fs.inotify.max_user_instances'];

export async function readKernel(): Promise<KernelFacts> {
  const [fileSystems, loadableModules, namespaces, sysctls] = await Promise.all([
    readFile('/proc/filesystems', 'utf8'),
    readLoadableModules(),
    readdir('/proc/self/ns'),
    Promise.all(sysctlNames.map(async (name) => [name, await readSysctl(name)] as const)),
  ]);
  return {
    release: release(),
    fileSystems: fileSystems.split('\n').flatMap((line) => line.split('\t')[1] ?? []),
    loadableModules,
    namespaces,
    sysctls: Object.fromEntries(sysctls.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  };
}

/** Empty in a container that cannot see the modules of the kernel. */
async function readLoadableModules(): Promise<string[]> {
  const folder = `/lib/modules/${release()}`;
  const lists = await Promise.all(
    ['modules.dep', 'modules.builtin'].map((name) => readFile(`${folder}/${name}`, 'utf8').catch(() => '')),
  );
  return modules.filter((name) => lists.some((text) => text.includes(`/${name}.ko`)));
}

/** Returns undefined if the kernel does not have the setting. */
export async function readSysctl(name: string): Promise<string | undefined> {
  return (await readFile(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').catch(() => undefined))?.trim();
}

const top = '/sys/fs/cgroup';

export async function readCgroups(): Promise<CgroupFacts> {
  const mounts = await readFile('/proc/self/mounts', 'utf8');
  if (!/^\S+ \/sys\/fs\/cgroup\S* cgroup2? /m.test(mounts)) return { mode: 'none', offered: [], isWritable: false };
  const mode = computeCgroupMode(mounts);
  const offered = (await offeredControllers(mode === 'v2' ? 2 : 1)).filter(isController);
  const isWritable = await canWrite(mode === 'v2' ? top : `${top}/memory`);
  return { mode, offered, isWritable, ...(mode === 'v2' && { unified: await readUnified() }) };
}

/** False for mount options, which cgroup v1 lists together with its controllers. */
const isController = (option: string): boolean => /^[a-z_]+$/.test(option) && !['rw', 'ro', 'xattr'].includes(option);

async function readUnified(): Promise<Required<CgroupFacts>['unified']> {
  const [delegated, processes, isBelow] = await Promise.all([
    readFile(`${top}/cgroup.subtree_control`, 'utf8'),
    readFile(`${top}/cgroup.procs`, 'utf8'),
    // Every cgroup but the root has this file: cgroups(7).
    pathExists(`${top}/cgroup.type`),
  ]);
  return { delegated: delegated.trim().split(' '), isRoot: !isBelow, hasProcesses: processes.trim() !== '' };
}

/** True also for a user without write permission, because only the mount matters here. */
async function canWrite(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK);
    return true;
  } catch (error) {
    return !hasCode(error, 'EROFS');
  }
}
