import type { Pod } from '../../api/types.ts';
import type { Clock } from '../../clock.ts';
import type { DiskUsage, StatsProvider } from '../../engine/stats/stats-provider.ts';
import type { Summary } from '../../engine/stats/summary.ts';
import type { ContainerEnd } from '../../engine/view/events.ts';
import type { EngineActivity, EngineView } from '../../engine/view/snapshot.ts';
import { cadvisorFamilies } from './cadvisor-families.ts';
import { EngineCounts } from './engine-counts.ts';
import { engineGauges } from './engine-gauges.ts';
import { type Family, type LabelStrings, type LongFamily, textParts } from './family.ts';
import { HealthSLIs } from './health-slis.ts';
import { type MachineFacts, readMachineFacts } from './machine.ts';
import { HTTPCounts } from './http-counts.ts';
import { resourceFamilies, scrapeError } from './resource-families.ts';
import { workloadFamilies } from './workload-families.ts';
import { type FeatureGates, featureStages } from '../../api/values/feature-gates.ts';

/** Paths of the kubelet with metrics. */
export const metricsPaths = [
  '/metrics',
  '/metrics/cadvisor',
  '/metrics/resource',
  '/metrics/probes',
  '/metrics/slis',
] as const;
export type MetricsPath = (typeof metricsPaths)[number];

/** Prometheus' text format. */
export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8';
/** Prometheus' binary format. */
export const binaryContentType =
  'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited';

/** When this process started. kubelet: component-base/metrics/processstarttime.go */
const processStart: Family = {
  name: 'process_start_time_seconds',
  type: 'gauge',
  help: '[ALPHA] Start time of the process since unix epoch in seconds.',
  samples: [{ labels: {}, value: performance.timeOrigin / 1000 }],
};

/** Scrapes share samples of this age. kubelet: cadvisor's housekeeping interval of 10 s, less the usual scrape */
const maxAgeMs = 1000;
/** kubelet: cadvisor manager/manager.go updateMachineInfoInterval */
const maxMachineAgeMs = 300_000;

/** The parts of the engine that the metrics use. */
export type MeasuredEngine = Pick<EngineView, 'subscribe'> &
  Pick<StatsProvider, 'summary' | 'cgroups' | 'diskUsage'> & {
    activity(): EngineActivity;
    pod(uid: string): Pod | undefined;
  };

/** All metrics of the agent. Counts from the start, and measures nothing until it is scraped. */
export class AgentMetrics {
  /** What the engine and the connection to the runtime report to. */
  readonly counts: EngineCounts;
  /** What the servers report to. */
  readonly http: HTTPCounts;
  /** What the checks of the servers report to. */
  readonly health = new HealthSLIs();
  private readonly labelStrings: LabelStrings = new WeakMap();
  private readonly build: readonly Family[];
  private engine: MeasuredEngine | undefined;
  private machine: { readAtMonotonic: number; facts: Promise<MachineFacts> } | undefined;
  private readonly registry = loadedOnce(async () => {
    const { ProcessRegistry } = await import('./process-registry.ts');
    return new ProcessRegistry();
  });

  /** Without facts, these families are missing. */
  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    facts?: BuildFacts,
  ) {
    this.build = facts === undefined ? [] : buildFamilies(facts);
    this.counts = new EngineCounts(clock);
    this.http = new HTTPCounts(clock);
  }

  /** Counts the events of this engine from now on, and shows its state. */
  follow(engine: MeasuredEngine): void {
    this.engine = engine;
    engine.subscribe((event) => {
      this.counts.happened(event);
      if (event.type === 'ContainerDied' && event.end)
        this.countEnd(event.pod.uid, event.containerName ?? '', event.end);
    });
  }

  private countEnd(podUID: string, name: string, end: ContainerEnd): void {
    const spec = this.engine?.pod(podUID)?.spec;
    const isOne = (containers: readonly { name: string }[] = []): boolean =>
      containers.some((container) => container.name === name);
    const type = isOne(spec?.initContainers)
      ? 'init_container'
      : isOne(spec?.ephemeralContainers)
        ? 'ephemeral_container'
        : 'container';
    this.counts.containerTerminated(type, end);
  }

  /** Metrics of one path in Prometheus' text format. Before an engine is followed, they lack what it knows. */
  async text(path: MetricsPath): Promise<Buffer> {
    return Buffer.concat(Array.from(await this.parts(path), (part) => Buffer.from(part)));
  }

  /** The same page in parts. Each part is overwritten when the second part after it is requested. */
  async parts(path: MetricsPath): Promise<Generator<Buffer, void>> {
    return textParts(await this.families(path), this.labelStrings);
  }

  /** The same metrics in Prometheus' binary format. */
  async binaryParts(path: MetricsPath): Promise<Generator<Buffer, void>> {
    const { binaryParts } = await import('./binary-format.ts');
    return binaryParts(await this.families(path));
  }

  private async families(path: MetricsPath): Promise<(Family | LongFamily)[]> {
    switch (path) {
      case '/metrics': {
        const disks = (await this.engine?.diskUsage().catch(() => undefined)) ?? { logs: [], claims: [] };
        const ofProcess = await (await this.registry()).families();
        return [...this.counts.families(), ...this.http.families(), ...this.gauges(disks), ...this.build, ...ofProcess];
      }
      case '/metrics/probes':
        return [...this.counts.probeFamilies(), processStart];
      case '/metrics/slis':
        return [...this.health.families(), processStart];
      case '/metrics/resource': {
        const summary = await this.summary(true);
        return summary === undefined ? [scrapeError(true)] : resourceFamilies(summary);
      }
      case '/metrics/cadvisor': {
        const [summary, cgroups, machine] = await Promise.all([
          this.summary(false),
          this.engine?.cgroups({ maxAgeMs }).catch(() => []) ?? [],
          this.machineFacts(),
        ]);
        const pods = this.engine?.activity().pods.map(({ pod }) => pod) ?? [];
        return summary === undefined ? [] : cadvisorFamilies(summary, cgroups, pods, machine);
      }
    }
  }

  private gauges(disks: DiskUsage): Family[] {
    if (this.engine === undefined) return [];
    const activity = this.engine.activity();
    return [...engineGauges(activity, disks), ...workloadFamilies(activity.workloads)];
  }

  /** Returns undefined if nothing can be measured. */
  private async summary(cpuAndMemoryOnly: boolean): Promise<Summary | undefined> {
    return this.engine?.summary({ maxAgeMs, cpuAndMemoryOnly }).catch(() => undefined);
  }

  private machineFacts(): Promise<MachineFacts> {
    const nowMonotonic = this.clock.monotonic();
    if (this.machine === undefined || nowMonotonic - this.machine.readAtMonotonic >= maxMachineAgeMs)
      this.machine = { readAtMonotonic: nowMonotonic, facts: readMachineFacts() };
    return this.machine.facts;
  }
}

/** Metrics about the program itself, not about its work. */
interface BuildFacts {
  /** The version of the reference kubelet, such as `v1.36.3`. */
  version: string;
  featureGates: FeatureGates;
}

/** kubelet: component-base/metrics/version/metrics.go, metrics/prometheus/feature/metrics.go */
function buildFamilies({ version, featureGates }: BuildFacts): Family[] {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  // This program was not built by a Go compiler, nor from a commit of Kubernetes.
  const unknown = { git_commit: '', git_tree_state: '', build_date: '', go_version: '', compiler: '', platform: '' };
  return [
    {
      name: 'kubelet_metrics_provider',
      type: 'gauge',
      help: '[ALPHA] The provider of container metrics: cgroups, as cadvisor reads them.',
      samples: [{ labels: { provider: 'cadvisor' }, value: 1 }],
    },
    {
      name: 'kubernetes_build_info',
      type: 'gauge',
      help:
        "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, " +
        'build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.',
      samples: [{ labels: { major, minor, git_version: version, ...unknown }, value: 1 }],
    },
    {
      name: 'kubernetes_feature_enabled',
      type: 'gauge',
      help: '[BETA] This metric records the data about the stage and enablement of a k8s feature.',
      samples: featureStages(featureGates).map(({ name, stage, isEnabled }) => ({
        // A gate that is generally available has no stage.
        labels: { name, stage: stage === 'GA' ? '' : stage.toUpperCase() },
        value: isEnabled ? 1 : 0,
      })),
    },
  ];
}

/** A function that loads a value at its first call, and again after a failure. */
export function loadedOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    loaded ??= load().catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}
