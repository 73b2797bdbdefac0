import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '../../src/api/types.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { codes, type MethodName, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

/** One version of a manifest. */
export interface Revision {
  readonly value: number;
  /** True if the manifest declares the UID. Revisions then differ only in `value`, and edits apply in place. */
  readonly hasUID: boolean;
  readonly hasInit: boolean;
  readonly hasSidecar: boolean;
  readonly isRestarted: boolean;
}

interface RestartCount {
  readonly count: number;
  /** Monotonic milliseconds. */
  readonly at: number;
  /** True if the engine crashed before it wrote this to its history. */
  isUnwritten: boolean;
}

/** Milliseconds that a machine needs to come to rest. */
const restMs = 120_000;
/** Milliseconds. The history on disk may lack events from this long before a crash. The runtime has them as well. */
const historyDelayMs = 1000;
const maxRestartDelayMs = 20_000;
const initRunsMs = 300;

/**
 * A machine on which anything may happen, with the invariants that must hold at every moment and at rest. Collects the
 * violations.
 */
export class LifeModel {
  readonly violations = new Set<string>();
  readonly #world: World;
  readonly #declared = new Map<string, Pod>();
  /** The reported restart counts by `uid/container`, newest last. Only for pods that were declared all the time. */
  readonly #restarts = new Map<string, RestartCount[]>();
  #source = new ManualSource();
  #engine: Engine | undefined;
  #heal: (() => void)[] = [];

  private constructor(world: World) {
    this.#world = world;
  }

  static async open(): Promise<LifeModel> {
    const model = new LifeModel(await World.open());
    model.#world.runtime.script('init', { exitAfterMs: initRunsMs });
    model.#source.set();
    await model.boot(false);
    return model;
  }

  async end(): Promise<void> {
    this.recover();
    await this.#world.end();
  }

  // Steps.

  declare(name: string, revision: Revision): void {
    const pod = podOf(name, revision);
    const before = this.#declared.get(pod.metadata.name);
    if (before?.metadata.uid !== pod.metadata.uid) this.#forgetRestarts(before);
    this.#declared.set(pod.metadata.name, pod);
    this.#source.set(...this.#declared.values());
  }

  undeclare(name: string): void {
    this.#forgetRestarts(this.#declared.get(fullName(name)));
    this.#declared.delete(fullName(name));
    this.#source.set(...this.#declared.values());
  }

  exit(name: string, container: string, exitCode: number): void {
    if (this.#isRunning(name, container))
      this.#world.runtime.exitContainer({ pod: fullName(name), container }, exitCode);
  }

  drop(name: string, container: string): void {
    if (!this.#isRunning(name, container)) return;
    this.#world.runtime.dropContainer({ pod: fullName(name), container });
    this.#loseUnwritten();
  }

  killSandbox(name: string): void {
    if (this.#isRunning(name, 'main')) this.#world.runtime.killSandbox(fullName(name));
  }

  fail(method: MethodName, times: number): void {
    const refusal = new Refusal(codes.unavailable, 'not now');
    this.#heal.push(this.#world.runtime.injectError(method, refusal, { times }));
  }

  hang(method: MethodName, answersOnly: boolean): void {
    this.#heal.push(this.#world.runtime.hang(method, { answersOnly }));
  }

  slowStop(stopAfterMs: number): void {
    for (const container of ['main', 'sidecar']) this.#world.runtime.script(container, { stopAfterMs });
  }

  loseEvents(): void {
    this.#world.runtime.endEventStreams();
  }

  jump(ms: number): void {
    this.#world.clock.setWallClock(this.#world.clock.now() + ms);
  }

  crash(): void {
    this.#engine?.crash();
    const writtenUntil = this.#world.clock.monotonic() - historyDelayMs;
    for (const count of [...this.#restarts.values()].flat()) count.isUnwritten ||= count.at > writtenUntil;
    this.#forgetEngine();
  }

  /** Crashes the engine as well; it stays down until `boot`. */
  async reboot(forgets: boolean): Promise<void> {
    this.crash();
    // Calls in flight finish before the runtime reboots.
    await this.pass(100);
    this.#world.runtime.reboot({ forgets });
    if (forgets) this.#loseUnwritten();
  }

  async stop(): Promise<void> {
    await this.#engine?.kill();
    this.#forgetEngine();
  }

  async boot(isEvented: boolean): Promise<void> {
    if (this.#engine !== undefined) return;
    this.#engine = await this.#world.boot({
      sources: [this.#source],
      isEvented,
      node: makeNodeConfig(this.#world.folder, { maxContainerRestartPeriodMs: maxRestartDelayMs }),
    });
  }

  async pass(ms: number): Promise<void> {
    await this.#world.pass(ms);
    this.#check();
  }

  // Checks.

  /** Clears all faults, runs an engine and lets time pass. Then checks that everything is as declared. */
  async rest(): Promise<void> {
    this.recover();
    await this.boot(false);
    const end = this.#world.clock.monotonic() + restMs;
    let found: unknown;
    let wanted: unknown;
    await this.#world.until(async () => {
      [found, wanted] = [await this.#found(), this.#wanted()];
      return JSON.stringify(found) === JSON.stringify(wanted) || this.#world.clock.monotonic() >= end;
    });
    if (JSON.stringify(found) !== JSON.stringify(wanted)) {
      this.violations.add(`at rest: ${JSON.stringify(found)}, wanted ${JSON.stringify(wanted)}`);
    }
    this.#check();
  }

  /** Gives the next engine a new source, so that the old engine receives no more manifests. */
  #forgetEngine(): void {
    this.#engine = undefined;
    this.#source = new ManualSource();
    this.#source.set(...this.#declared.values());
  }

  recover(): void {
    for (const heal of this.#heal) heal();
    this.#heal = [];
    this.slowStop(0);
  }

  #check(): void {
    for (const name of names.map(fullName)) {
      const { runtime } = this.#world;
      if (runtime.maxConcurrentRevisions(name) > 1) this.violations.add(`two revisions of ${name} ran at once`);
      for (const container of ['init', 'sidecar', 'main']) {
        if (runtime.maxConcurrentRunning(name, container) > 1) this.violations.add(`${name}/${container} ran twice`);
      }
    }
    for (const { pod } of this.#engine?.kubelet.snapshot().pods ?? []) {
      if (this.#declared.get(pod.metadata.name)?.metadata.uid !== pod.metadata.uid) continue;
      for (const { name, restartCount } of pod.status?.containerStatuses ?? []) {
        const key = `${pod.metadata.uid}/${name}`;
        const counts = this.#restarts.get(key) ?? [];
        const before = counts.at(-1)?.count ?? 0;
        if (restartCount < before) this.violations.add(`${key} was restarted ${before} times, then ${restartCount}`);
        if (restartCount > before)
          counts.push({ count: restartCount, at: this.#world.clock.monotonic(), isUnwritten: false });
        this.#restarts.set(key, counts);
      }
    }
  }

  async #found(): Promise<unknown> {
    const { runtime, folder, rootDir } = this.#world;
    const [{ items }, { containers }] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
    const isEnded = (uid: string): boolean =>
      this.#engine?.kubelet.snapshot().pods.some((pod) => pod.pod.metadata.uid === uid && hasEnded(pod.pod)) ?? false;
    const uidOf = (labels: Record<string, string>): string => labels['io.kubernetes.pod.uid'] ?? '';
    return {
      sandboxes: items.flatMap(({ labels, state }) => (state === 'SANDBOX_READY' ? uidOf(labels) : [])).sort(),
      running: containers
        .flatMap(({ labels, state, metadata }) =>
          state === 'CONTAINER_RUNNING' ? `${uidOf(labels)}/${metadata?.name ?? ''}` : [],
        )
        .sort(),
      strangers: containers.map(({ labels }) => uidOf(labels)).filter((uid) => !this.#isDeclared(uid)),
      ready: [...this.#declared.values()].flatMap(({ metadata: { name, uid } }) =>
        isEnded(uid) || this.#engine?.isReady(name) ? [] : name,
      ),
      folders: (await entries(join(rootDir, 'pods'))).filter((uid) => !this.#isDeclared(uid)),
      logs: (await entries(join(folder, 'logs', 'pods'))).filter((name) => !this.#isDeclared(name.split('_')[2] ?? '')),
    };
  }

  #wanted(): unknown {
    const pods = this.#engine?.kubelet.snapshot().pods.map(({ pod }) => pod) ?? [];
    const live = [...this.#declared.values()].filter(
      ({ metadata: { uid } }) => !pods.some((pod) => pod.metadata.uid === uid && hasEnded(pod)),
    );
    return {
      sandboxes: live.map(({ metadata: { uid } }) => uid).sort(),
      running: live
        .flatMap(({ metadata: { uid }, spec: { containers, initContainers = [] } }) =>
          [...containers, ...initContainers.filter(({ restartPolicy }) => restartPolicy === 'Always')].map(
            ({ name }) => `${uid}/${name}`,
          ),
        )
        .sort(),
      strangers: [],
      ready: [],
      folders: [],
      logs: [],
    };
  }

  #isDeclared(uid: string): boolean {
    return [...this.#declared.values()].some((pod) => pod.metadata.uid === uid);
  }

  #isRunning(name: string, container: string): boolean {
    return this.#world.runtime.running().some((running) => running.startsWith(`${fullName(name)}/${container}#`));
  }

  /** Drops the counts that only the runtime had, because it is losing a container. */
  #loseUnwritten(): void {
    for (const [key, counts] of this.#restarts) {
      this.#restarts.set(
        key,
        counts.filter(({ isUnwritten }) => !isUnwritten),
      );
    }
  }

  #forgetRestarts(pod: Pod | undefined): void {
    if (pod === undefined) return;
    for (const { name } of pod.spec.containers) this.#restarts.delete(`${pod.metadata.uid}/${name}`);
  }
}

export const names = ['web', 'db'] as const;

const fullName = (name: string): string => `${name}-edge1`;

const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';

function podOf(name: string, revision: Revision): Pod {
  const { value, hasUID } = revision;
  const { hasInit, hasSidecar, isRestarted } = hasUID
    ? { hasInit: true, hasSidecar: true, isRestarted: true }
    : revision;
  const image = `registry.example/app:${String(value)}`;
  const sidecar = { name: 'sidecar', image, restartPolicy: 'Always' as const };
  return makeStaticPod(name, {
    ...(hasUID && { uid: `${name}-uid` }),
    spec: {
      restartPolicy: isRestarted ? 'Always' : 'Never',
      initContainers: [...(hasInit ? [{ name: 'init', image }] : []), ...(hasSidecar ? [sidecar] : [])],
      containers: [{ name: 'main', image, env: [{ name: 'VALUE', value: String(value) }] }],
    },
  });
}

async function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
