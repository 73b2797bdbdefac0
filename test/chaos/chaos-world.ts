import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RpcError, hasCode } from '../../src/errors.ts';
import type { SeededRandom } from '../builders/seeded-random.ts';
import type { OperationAction, RevisionSummary } from '../../src/engine/operations/operation.ts';
import { fetchRevisions } from '../../src/server/control/control-client.ts';
import { controlSocketPath } from '../../src/server/control/socket-paths.ts';
import { Agent, nodeName } from '../e2e/agent.ts';
import type { NetworkNamespace } from '../e2e/network-namespace.ts';
import { type ChaosPod, journalFolder, makeChaosPod, settings } from './chaos-pod.ts';
import { type ChaosRuntime, startChaosRuntime } from './chaos-runtime.ts';
import { type ListedContainer, listRuntime, untilRuntimeAnswers } from './list-runtime.ts';
import { pidOf } from './pid-of.ts';

/** Crashes are the point here: they are not waited for longer than this. */
const configuration = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  featureGates: { KubeletCrashLoopBackOffMax: true },
  crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
};
const images = ['flock.tar'] as const;
const settingsFile = 'settings.yaml';
const fileName = (name: string): string => `${name}.yaml`;

/** What there is to be done to a world: a node, its containerd, and the pods that its manifests declare. */
export class ChaosWorld {
  readonly agent: Agent;
  /** Undefined where kubelet-ts manages the containerd. */
  readonly runtime: ChaosRuntime | undefined;
  /** By name: the revision that must run. */
  readonly desired = new Map<string, ChaosPod>();
  /** Names of the pods that an operator stopped. */
  readonly stopped = new Set<string>();
  /** What the manifests of held pods declare, by name. */
  readonly held = new Map<string, ChaosPod>();
  /** What the manifests of pods declare that were rolled back and are not held, by name. */
  readonly rolledBack = new Map<string, ChaosPod>();
  /** By the name of a pod and the number of a revision: what that revision is. */
  readonly revisions = new Map<string, Map<number, ChaosPod>>();
  /** The names and revisions that ran before and run again from their first attempt on, until a check sees them. */
  readonly reborn = new Set<string>();
  /** Ids of containers that were made to crash. */
  readonly crashed = new Set<string>();
  /** Ids of dead containers that were removed from the runtime. */
  readonly removedDead = new Set<string>();
  /** Names of the pods that something was done to since `touched` was emptied. */
  readonly touched = new Set<string>();
  readonly #random: SeededRandom;
  readonly #hasPodNetwork: boolean;
  #revision = 0;

  private constructor(
    agent: Agent,
    { random, runtime, hasPodNetwork }: { random: SeededRandom; runtime?: ChaosRuntime; hasPodNetwork: boolean },
  ) {
    this.agent = agent;
    this.runtime = runtime;
    this.#random = random;
    this.#hasPodNetwork = hasPodNetwork;
  }

  /** A node whose containerd kubelet-ts manages, all of it in a network namespace. */
  static async managed(random: SeededRandom, namespace: NetworkNamespace): Promise<ChaosWorld> {
    const flags: string[] = [];
    const agent = await Agent.create({ networkNamespace: namespace.path, flags, images });
    await prepare(agent, flags);
    return new ChaosWorld(agent, { random, hasPodNetwork: true });
  }

  /** A node in front of a containerd that can hang. */
  static async proxied(random: SeededRandom): Promise<ChaosWorld> {
    const flags: string[] = [];
    const agent = await Agent.create({ flags, images });
    const runtime = await startChaosRuntime(agent.rootDir);
    await prepare(agent, flags);
    flags.push('--container-runtime-endpoint', runtime.endpoint);
    return new ChaosWorld(agent, { random, runtime, hasPodNetwork: false });
  }

  /** For the names of files. */
  get kind(): 'managed' | 'proxied' {
    return this.runtime === undefined ? 'managed' : 'proxied';
  }

  /** The next revision of a pod. */
  newPod(name: string): ChaosPod {
    const { rootDir } = this.agent;
    this.#revision += 1;
    return makeChaosPod({ name, revision: this.#revision }, this.#random, {
      rootDir,
      hasPodNetwork: this.#hasPodNetwork,
    });
  }

  /** Notes what the manifest of a pod declares, once it is certain. */
  declared(pod: ChaosPod): void {
    const { name } = pod;
    this.touched.add(name);
    if (this.held.has(name)) this.held.set(name, pod);
    else this.desired.set(name, pod);
    this.rolledBack.delete(name);
  }

  /** Notes that no manifest declares a pod. */
  undeclared(name: string): void {
    this.touched.add(name);
    this.desired.delete(name);
    this.rolledBack.delete(name);
    this.revisions.delete(name);
  }

  async createPod(name: string): Promise<void> {
    const pod = this.newPod(name);
    this.declared(pod);
    await this.agent.write(fileName(name), pod.manifest);
  }

  async removePod(name: string): Promise<void> {
    this.undeclared(name);
    await this.agent.remove(fileName(name));
  }

  /** Notes the revisions that run now, after which pods can be rolled back to them. */
  async noteRevisions(): Promise<void> {
    for (const [name, pod] of this.desired) {
      const current = (await this.revisionsOf(name)).find(({ isCurrent }) => isCurrent);
      const known = this.revisions.get(name) ?? new Map<number, ChaosPod>();
      if (current !== undefined) this.revisions.set(name, known.set(current.revision, pod));
    }
  }

  /** The revisions of a pod in kubelet-ts. */
  async revisionsOf(name: string): Promise<RevisionSummary[]> {
    const pod = { namespace: 'default', name: `${name}-${nodeName}` };
    return (await fetchRevisions(controlSocketPath(this.agent.rootDir), pod)) ?? [];
  }

  /** Notes that a pod runs an earlier revision, once it is certain. */
  rolledBackTo(pod: ChaosPod): void {
    const { name } = pod;
    const declared = this.rolledBack.get(name) ?? this.desired.get(name);
    this.touched.add(name);
    this.reborn.add(`${name} ${pod.revision}`);
    this.desired.set(name, pod);
    this.rolledBack.delete(name);
    if (!this.held.has(name) && declared !== undefined && declared !== pod) this.rolledBack.set(name, declared);
  }

  /** Notes the containers of a pod, which a restart must end. Waits for a runtime that was killed. */
  async expectRestart(name: string): Promise<void> {
    const note = async (): Promise<void> => {
      const { containers } = await listRuntime(this.agent);
      for (const one of containers) if (one.podName === name && one.isRunning) this.crashed.add(one.id);
    };
    await note().catch(async (error: unknown) => {
      if (!(error instanceof RpcError)) throw error;
      await untilRuntimeAnswers(this.agent);
      await note();
    });
  }

  /** Notes what an operator asked of a pod, once it is certain. */
  operated(name: string, action: OperationAction): void {
    const pod = this.desired.get(name);
    if (pod === undefined) return;
    this.touched.add(name);
    if (action === 'stop') this.stopped.add(name);
    if (action === 'start') this.stopped.delete(name);
    const declared = this.held.get(name) ?? this.rolledBack.get(name) ?? pod;
    if (action === 'hold') this.held.set(name, declared);
    if (action === 'unhold') {
      this.desired.set(name, declared);
      this.held.delete(name);
      if (declared !== pod) this.reborn.add(`${name} ${declared.revision}`);
    }
    if (action === 'hold' || action === 'unhold') this.rolledBack.delete(name);
  }

  /** Kills one container of a pod, or all of its sandbox, if there is one now. */
  async crash(name: string, what: 'container' | 'sandbox'): Promise<void> {
    await this.#whileRuntimeAnswers(async () => {
      const { containers, sandboxes } = await listRuntime(this.agent);
      const running = containers.filter((one) => one.podName === name && one.isRunning && this.#isCurrent(one));
      const sandbox = sandboxes.find((one) => one.podName === name && one.isReady);
      if (running.length === 0 || sandbox === undefined) return;
      const victims = what === 'sandbox' ? running : [this.#random.pick(running)];
      const pid = await pidOf(this.agent, what, what === 'sandbox' ? sandbox.id : (victims[0]?.id ?? ''));
      if (pid === undefined || !isKilled(pid)) return;
      this.touched.add(name);
      for (const { id } of victims) this.crashed.add(id);
    });
  }

  /**
   * Removes the dead containers of pods that were left alone, as `crictl rm` and a full disk do. A stopped pod shows no
   * restarts without them.
   */
  async removeDead(): Promise<void> {
    await this.#whileRuntimeAnswers(async () => {
      const dead = (await listRuntime(this.agent)).containers.filter(
        ({ hasEnded, podName }) => hasEnded && !this.touched.has(podName) && !this.stopped.has(podName),
      );
      const connection = await this.agent.connect();
      try {
        for (const { id } of dead) {
          await connection.runtime.removeContainer({ containerId: id });
          this.removedDead.add(id);
        }
      } finally {
        connection.close();
      }
    });
  }

  /** Ends containerd as a crash does; whoever started it starts it again. */
  async killContainerd(): Promise<boolean> {
    const pid = await this.agent.containerdPid().catch(() => undefined);
    return pid !== undefined && isKilled(pid);
  }

  async cleanUp(): Promise<void> {
    await this.agent.stop().catch(() => undefined);
    this.runtime?.release();
    try {
      await this.agent.cleanUp();
    } finally {
      await this.runtime?.close();
    }
  }

  #isCurrent({ podName, revision }: ListedContainer): boolean {
    return this.desired.get(podName)?.revision === revision;
  }

  /** A runtime that was killed a moment ago refuses, or knows no more of what is asked for. */
  async #whileRuntimeAnswers(act: () => Promise<void>): Promise<void> {
    await act().catch((error: unknown) => {
      if (!(error instanceof RpcError)) throw error;
    });
  }
}

async function prepare(agent: Agent, flags: string[]): Promise<void> {
  const file = join(agent.rootDir, 'kubelet.yaml');
  await writeFile(file, JSON.stringify(configuration));
  // A round may remove every running pod while no agent runs.
  flags.push('--config', file, '--prune');
  await mkdir(journalFolder(agent.rootDir));
  await agent.write(settingsFile, settings);
}

/** False when the process was gone already. */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false;
    throw error;
  }
}
