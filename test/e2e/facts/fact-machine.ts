import { readFile } from 'node:fs/promises';
import { type CgroupController, readCgroupMounts } from '../../../src/engine/container-manager/cgroup-mounts.ts';
import { type Machine, readMachine } from '../../../src/engine/container-manager/machine.ts';
import type { Agent } from '../agent.ts';

/** What facts depend on that differs between machines and between releases of the runtime. */
export interface FactMachine extends Machine {
  /** The root-dir of the node under test. */
  readonly rootDir: string;
  /** A folder of the machine with what `makeHostFolder` creates. */
  readonly hostFolder: string;
  /** Major and minor version of containerd. */
  readonly containerd: readonly [number, number];
  /** Capabilities that a process of this machine can have: bits as in CapBnd. */
  readonly capabilities: bigint;
  readonly controllers: ReadonlySet<CgroupController>;
  /** Number of files that a process of the runtime may open. */
  readonly openFiles: string;
  /** True if the runtime supports user namespaces for pods. */
  readonly userNamespaces: boolean;
  /** The score of this process. */
  readonly oomScoreAdj: number;
}

export async function readFactMachine(agent: Agent, hostFolder: string): Promise<FactMachine> {
  const { rootDir } = agent;
  const connection = await agent.connect();
  const { runtimeVersion } = await connection.runtime.version({});
  const { runtimeHandlers } = await connection.runtime.status({ verbose: false });
  connection.close();
  const [major = 0, minor = 0] = runtimeVersion.replace(/^v/, '').split('.').map(Number);
  const limits = await readFile(`/proc/${await agent.containerdPid()}/limits`, 'utf8');
  const { controllers } = await readCgroupMounts();
  return {
    ...(await readMachine(rootDir)),
    rootDir,
    hostFolder,
    containerd: [major, minor],
    capabilities: BigInt(`0x${statusField(await readFile('/proc/self/status', 'utf8'), 'CapBnd')}`),
    controllers: new Set(controllers.keys()),
    openFiles: /^Max open files +\d+ +(\d+)/m.exec(limits)?.[1] ?? '',
    userNamespaces: runtimeHandlers.some(({ name, features }) => name === '' && features?.userNamespaces === true),
    oomScoreAdj: Number(await readFile('/proc/self/oom_score_adj', 'utf8')),
  };
}

function statusField(status: string, name: string): string {
  return new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? '';
}
