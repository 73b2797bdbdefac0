import { isDeepStrictEqual } from 'node:util';
import type { Pod, PodStatus } from '../../api/types.ts';
import { isPodPhaseTerminal } from '../../api/values/pod-phase.ts';
import { type Forwarding, hasClusterIP, type Service, type ServiceAddresses } from '../../api/values/service.ts';
import type { Clock } from '../../clock.ts';
import { errorMessage, UserError } from '../../errors.ts';
import type { Faults } from '../../flow/faults.ts';
import { SerialQueue } from '../../flow/serial-queue.ts';
import { singleFlight } from '../../flow/single-flight.ts';
import { TimeoutError, withTimeout } from '../../flow/with-timeout.ts';
import type { Logger } from '../../logger.ts';
import type { Emit } from '../view/event-bus.ts';
import { reasons } from '../view/reasons.ts';
import { problemSentence, type ServiceProblem, type ServiceProblemSnapshot } from '../view/service-problem.ts';
import { type Allocation, type AllocationProblem, computeAllocations, serviceKey } from './allocation.ts';
import { computeForwarding } from './compute-forwarding.ts';
import { serviceLines } from './service-lines.ts';
import { ServiceNames } from './service-names.ts';
import { servicePod, type ServicePod } from './service-pod.ts';
import { type RulesProblem, serviceProblems } from './service-problems.ts';
import { readAllocations, writeAllocations } from './service-records.ts';
import { serviceVariables } from './service-variables.ts';

/** Forwards connections to Services. */
export interface ServiceNetwork {
  /**
   * Chooses the subnets of cluster addresses, the family of the first one by default. Rejects with a `UserError` if
   * this machine cannot forward.
   */
  openSubnets: () => Promise<readonly string[]>;
  /** Replaces everything that is forwarded. If this rejects, it is tried again later. */
  forward: (forwarding: Forwarding) => Promise<void>;
  /** Returns the Services that the kernel does not forward, of those of the last `forward`. */
  problems: () => readonly RulesProblem[];
}

interface Deps {
  declared: { services: () => Service[]; serviceAddresses: () => ServiceAddresses[] };
  /** Undefined if nothing can be forwarded: names then lead to the pods themselves. */
  network: ServiceNetwork | undefined;
  areSourcesSeen: () => boolean;
  /** Returns the pods that may run, including those that are stopping. */
  pods: () => Pod[];
  isTerminating: (uid: string) => boolean;
  /** Returns the pods that run in the runtime. Only a declared one gets a status. */
  runningPods: () => { uid: string; isDeclared: boolean }[];
  statusOf: (uid: string) => PodStatus | undefined;
  podDir: (uid: string) => string;
  /** Returns the addresses of pods on the host network, primary first. */
  nodeIPs: () => readonly string[];
  clusterDomain: string;
  rootDir: string;
  emit: Emit;
  clock: Clock;
  faults: Pick<Faults, 'record'>;
  logger: Logger;
}

interface Declared {
  services: readonly Service[];
  /** True if all sources were read. */
  isComplete: boolean;
}

/** Milliseconds to wait for sources before what they do not declare is no longer forwarded. */
const sourcePatienceMs = 10_000;
/** Milliseconds for the last update before a pod stops. */
const drainMs = 1000;
/** While pods change without a pause, updates take half of the time. */
const pace = { pausePerRun: 1, maxPauseMs: 500 };

/**
 * The Services of this node: allocates their addresses, and tells the network and the hosts files of pods where they
 * lead. Both keep working while no agent runs. The kubelet leaves this to kube-proxy and a DNS server.
 *
 * INVARIANTS: an allocation is on the disk before it is used, unless the disk refuses. Nothing is forwarded anew before
 * the pods of an earlier agent are known, because their connections would break.
 */
export class Services {
  private readonly names: ServiceNames;
  private allocations: ReadonlyMap<string, Allocation> = new Map();
  /** What the next allocation starts from. While this node has no subnets, nothing of it is used. */
  private recorded: ReadonlyMap<string, Allocation> = new Map();
  private readonly allocating = new SerialQueue();
  /** The declared Services of the last allocation. */
  private allocated: Declared = { services: [], isComplete: false };
  /** True if an earlier agent may have forwarded something. */
  private hasEarlier = false;
  private subnets: readonly string[] | undefined;
  private forwarding: Forwarding | undefined;
  private refusals: readonly AllocationProblem[] = [];
  /** Why this node has no subnets. */
  private subnetsProblem: Pick<ServiceProblem, 'message' | 'hint'> | undefined;
  /** Why the last change is not forwarded. */
  private forwardProblem: Pick<ServiceProblem, 'message' | 'hint'> | undefined;
  private problems: readonly ServiceProblemSnapshot[] = [];
  private readonly updateSoon: () => Promise<void>;
  private readonly startedMonotonic: number;

  constructor(private readonly deps: Deps) {
    this.startedMonotonic = deps.clock.monotonic();
    this.names = new ServiceNames({ ...deps, lines: (namespace) => this.lines(namespace) });
    this.updateSoon = singleFlight(() => this.updateAll(), { clock: deps.clock, ...pace });
  }

  /** Loads what an earlier agent allocated. Call it before `update`. */
  async load(): Promise<void> {
    const { rootDir, logger } = this.deps;
    try {
      this.recorded = (await readAllocations(rootDir, logger)) ?? new Map();
      this.allocations = this.recorded;
      this.hasEarlier = this.recorded.size > 0;
    } catch (error) {
      logger.warn({ err: errorMessage(error) }, 'Reading the addresses of Services failed; some may change');
    }
  }

  /**
   * Applies changes. Call this after each change of a Service, of a pod's or the node's address, or of a pod's
   * readiness.
   */
  update(): void {
    void this.updateSoon();
  }

  /** Resolves once no new connection leads to a stopping pod, or after a second. */
  async drained(): Promise<void> {
    if ((this.forwarding?.ports ?? []).length === 0) return;
    await withTimeout(this.deps.clock, drainMs, this.updateSoon()).catch((error: unknown) => {
      if (!(error instanceof TimeoutError)) throw error;
    });
  }

  /** What is wrong with Services now. */
  snapshot(): readonly ServiceProblemSnapshot[] {
    return this.problems;
  }

  /** Writes the pod's hosts file before a container starts: this content plus the names of Services. */
  async writeHostsFile(pod: Pod, content: string): Promise<void> {
    await this.allocate();
    await this.names.writeHostsFile(pod, content);
  }

  /** Returns the variables of Services for a container of the pod. */
  async variables({ metadata: { namespace }, spec }: Pod): Promise<ReadonlyMap<string, string>> {
    if (spec.enableServiceLinks === false) return new Map();
    await this.allocate();
    return serviceVariables(this.deps.declared.services(), this.allocations, namespace);
  }

  /** Never rejects. */
  private async updateAll(): Promise<void> {
    const { areSourcesSeen, faults, clock, runningPods, statusOf } = this.deps;
    try {
      await this.allocate();
      const awaitsSources = !areSourcesSeen() && clock.monotonic() - this.startedMonotonic < sourcePatienceMs;
      // Pods that ran before the agent started would lose their names and connections until it knows them.
      const awaited = runningPods().filter(({ isDeclared }) => isDeclared || awaitsSources);
      if (awaited.some(({ uid }) => statusOf(uid) === undefined)) return;
      await Promise.all([this.names.update(), ...(awaitsSources ? [] : [this.forward()])]);
    } catch (error) {
      faults.record('Services', error);
    }
    // A source that was not read yet may declare what is missing.
    if (areSourcesSeen()) this.report();
  }

  /** Allocates addresses to new Services. Never rejects, because pods can start without. */
  private allocate(): Promise<void> {
    const declared = {
      services: this.deps.declared.services().filter(hasClusterIP),
      isComplete: this.deps.areSourcesSeen(),
    };
    if (this.isAllocated(declared) && this.allocating.isIdle) return Promise.resolve();
    return this.allocating.run(async () => {
      if (!this.isAllocated(declared)) await this.allocateAll(declared);
    });
  }

  private async allocateAll(declared: Declared): Promise<void> {
    const { network, logger, rootDir } = this.deps;
    const { services, isComplete } = declared;
    if (services.length > 0) this.subnets ??= await this.openSubnets(network);
    if (services.length > 0 && this.subnets === undefined) {
      this.allocations = new Map();
      return;
    }
    this.allocated = declared;
    const state = { subnets: this.subnets ?? [], earlier: this.recorded, keepsOthers: !isComplete };
    const { allocations, problems } = computeAllocations(services, state);
    if (!isDeepStrictEqual(allocations, this.recorded)) {
      await writeAllocations(rootDir, allocations).catch((error: unknown) => {
        logger.warn({ err: errorMessage(error) }, 'Recording the addresses of Services failed; they may change');
      });
    }
    this.recorded = allocations;
    this.allocations = allocations;
    this.refusals = problems;
  }

  private isAllocated(declared: Declared): boolean {
    return isDeepStrictEqual(declared, this.allocated);
  }

  private async openSubnets(network: ServiceNetwork | undefined): Promise<readonly string[] | undefined> {
    try {
      const subnets = await network?.openSubnets();
      this.subnetsProblem = undefined;
      return subnets;
    } catch (error) {
      const message = `forwards no ports, and its name resolves to the addresses of its pods: ${errorMessage(error)}`;
      const hint = error instanceof UserError ? error.hint : undefined;
      this.subnetsProblem = { message, hint: hint ?? doctorHint };
      return undefined;
    }
  }

  private async forward(): Promise<void> {
    const { network, declared } = this.deps;
    const subnets = this.subnets ?? [];
    const services = declared.services();
    if (network === undefined || (subnets.length === 0 && !this.hasEarlier)) return;
    const backends = { pods: this.pods(), addresses: declared.serviceAddresses() };
    const ports = computeForwarding(services, this.allocations, backends);
    const forwarding = { subnets: ports.length === 0 ? [] : subnets, ports };
    if (this.forwardProblem === undefined && isDeepStrictEqual(forwarding, this.forwarding)) return;
    try {
      await network.forward(forwarding);
    } catch (error) {
      const message = `is forwarded as before its last change, until its rules can be updated: ${errorMessage(error)}`;
      this.forwardProblem = { message, hint: doctorHint };
      throw error;
    }
    this.forwarding = forwarding;
    this.forwardProblem = undefined;
  }

  /** Emits an event for each new problem. */
  private report(): void {
    const { declared, network, clock, emit } = this.deps;
    const found = serviceProblems({
      services: declared.services(),
      addresses: declared.serviceAddresses(),
      allocations: this.allocations,
      pods: this.deps.pods(),
      refusals: this.refusals,
      ofAll: this.subnetsProblem ?? this.forwardProblem,
      ofRules: network?.problems() ?? [],
    });
    this.problems = found.map((problem) => {
      const known = this.problems.find(({ since: _, ...one }) => isDeepStrictEqual(one, problem));
      if (known !== undefined) return known;
      const { kind, namespace, name, hint } = problem;
      const object = { kind, namespace, name };
      const message = problemSentence(problem);
      emit({ type: 'Recorded', eventType: 'Warning', reason: reasons.serviceProblem, object, message, hint });
      return { ...problem, since: clock.now() };
    });
  }

  private lines(namespace: string): string[] {
    const { declared, clusterDomain } = this.deps;
    const services = declared.services();
    if (services.length === 0) return [];
    const named = {
      services: services.filter((service) => !this.isRefused(service)),
      pods: this.pods(),
      addresses: declared.serviceAddresses(),
      allocations: this.allocations,
    };
    return serviceLines(named, { namespace, clusterDomain });
  }

  /** True if it has neither an address nor a name, as if it was not declared. */
  private isRefused(service: Service): boolean {
    return this.subnets !== undefined && hasClusterIP(service) && !this.allocations.has(serviceKey(service));
  }

  private pods(): ServicePod[] {
    const { pods, isTerminating, statusOf, nodeIPs } = this.deps;
    return pods().flatMap((pod) => {
      const { uid } = pod.metadata;
      const status = statusOf(uid);
      if (status === undefined || isPodPhaseTerminal(status.phase)) return [];
      const ips = pod.spec.hostNetwork === true ? nodeIPs() : (status.podIPs ?? []).flatMap(({ ip = '' }) => ip);
      return [servicePod({ ...pod, status }, { ips, isTerminating: isTerminating(uid) })];
    });
  }
}

const doctorHint = 'Check this machine: kubelet-ts doctor';
