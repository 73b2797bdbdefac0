import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { Pod, PodStatus } from '../src/api/types.ts';
import type { Forwarding } from '../src/api/values/service.ts';
import { systemClock } from '../src/clock.ts';
import { type PacketFilter, packetFilter } from '../src/containerd/network/packet-filter.ts';
import { ServiceNetwork } from '../src/containerd/service-network.ts';
import { Services } from '../src/engine/services/services.ts';
import { Faults } from '../src/flow/faults.ts';
import { makeService } from '../test/builders/services.ts';
import { makeStaticPod } from '../test/builders/static-pod.ts';
import { NetworkNamespace } from '../test/e2e/network-namespace.ts';
import { type Figures, floor } from './figures.ts';

const serviceCount = 100;
const podsPerService = 3;
const pauseMs = 500;
const subnetsOf = { IPv4: ['10.223.0.0/22'], 'IPv4 and IPv6': ['10.223.0.0/22', 'fd00:223::/112'] };
const families = ['IPv4', 'IPv6'] as const;
const programs = { IPv4: 'iptables', IPv6: 'ip6tables' } as const;

/**
 * Measures how long it takes until the kernel forwards to new endpoints of all Services, and until a check has restored
 * rules that were flushed. The floor runs `iptables-restore` again with the same input, both families at once.
 */
export async function measureServices({ figures, runs }: { figures: Figures; runs: number }): Promise<void> {
  const namespace = await NetworkNamespace.create();
  const folder = await mkdtemp(join(tmpdir(), 'kubelet-ts-services-'));
  try {
    await writePrograms(folder, namespace);
    for (const [what, subnets] of Object.entries(subnetsOf)) {
      const quantities = {
        changed: { what: `${serviceCount} Services × ${podsPerService} pods changed → rules, ${what}`, unit: 'ms' },
        restored: { what: `rules flushed, check → restored, ${what}`, unit: 'ms' },
      } as const;
      const node = new ServiceNode(folder, subnets);
      // The first change creates everything.
      await node.start();
      await node.change();
      for (let run = 0; run < runs; run++) {
        // Right after an update, the next one waits as long as that one took.
        await sleep(pauseMs);
        figures.add(quantities.changed, 'kubelet-ts', await timeOf(() => node.change()));
        await sleep(pauseMs);
        figures.add(quantities.changed, floor, await timeOf(() => node.restoreAgain()));
      }
      // In a loop of its own: after a flush, the kernel is busy for some time, and the next change waits for it.
      for (let run = 0; run < runs; run++) {
        await namespace.run('nft', 'flush', 'ruleset');
        figures.add(quantities.restored, 'kubelet-ts', await timeOf(() => node.network.check()));
        await namespace.run('nft', 'flush', 'ruleset');
        figures.add(quantities.restored, floor, await timeOf(() => node.restoreAgain()));
      }
      await namespace.run('nft', 'flush', 'ruleset');
    }
  } finally {
    await namespace.remove();
    await rm(folder, { recursive: true });
  }
}

/** Programs that work in the namespace. */
async function writePrograms(folder: string, { path }: NetworkNamespace): Promise<void> {
  for (const program of Object.values(programs).flatMap((name) => [name, `${name}-save`, `${name}-restore`])) {
    await writeFile(join(folder, program), `#!/bin/sh\nexec nsenter --net=${path} /usr/sbin/${program} "$@"\n`, {
      mode: 0o755,
    });
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await work();
  return performance.now() - from;
}

/** The Services of an agent, with pods that are only in memory. */
class ServiceNode {
  readonly network: ServiceNetwork;
  private readonly podDir = (uid: string): string => join(this.folder, uid);
  private readonly services: Services;
  private readonly pods: readonly Pod[];
  /** The last input of iptables-restore. */
  private readonly inputs = new Map<PacketFilter, string>();
  private statuses = new Map<string, PodStatus>();
  private revision = 0;
  private onForwarded: () => void = () => undefined;

  constructor(
    private readonly folder: string,
    subnets: readonly string[],
  ) {
    const logger = pino({ level: 'warn' }, pino.destination(2));
    const names = Array.from({ length: serviceCount }, (_, index) => `web-${index}`);
    this.pods = names.flatMap((app) =>
      Array.from({ length: podsPerService }, (_, index) =>
        makeStaticPod(`${app}-${index}`, { uid: `${app}-${index}`, labels: { app } }),
      ),
    );
    const declared = names.map((name) => makeService(name, { ipFamilyPolicy: 'PreferDualStack' }));
    const filters = families.map((family): PacketFilter => {
      const filter = packetFilter(family, join(folder, programs[family]));
      const restore = (input: string): Promise<void> => {
        this.inputs.set(filter, input);
        return filter.restore(input);
      };
      return { ...filter, restore };
    });
    this.network = new ServiceNetwork({
      rootDir: '',
      choice: {},
      bridge: () => Promise.resolve(undefined),
      filters: () => Promise.resolve(filters),
      clock: systemClock,
      logger,
    });
    this.services = new Services({
      declared: { services: () => declared, serviceAddresses: () => [] },
      network: {
        openSubnets: () => Promise.resolve(subnets),
        forward: async (forwarding: Forwarding) => {
          await this.network.forward(forwarding);
          this.onForwarded();
        },
        problems: () => [],
      },
      areSourcesSeen: () => true,
      pods: () => [...this.pods],
      isTerminating: () => false,
      runningPods: () => [],
      statusOf: (uid) => this.statuses.get(uid),
      podDir: this.podDir,
      nodeIPs: () => [],
      clusterDomain: '',
      rootDir: folder,
      emit: () => undefined,
      clock: systemClock,
      faults: new Faults({ clock: systemClock, logger }),
      logger,
    });
  }

  async start(): Promise<void> {
    for (const pod of this.pods) {
      await mkdir(this.podDir(pod.metadata.uid), { recursive: true });
      await this.services.writeHostsFile(pod, '');
    }
  }

  /** Gives all pods new addresses. Resolves once the kernel forwards to them. */
  async change(): Promise<void> {
    this.revision++;
    const conditions = [{ type: 'Ready', status: 'True' }];
    this.statuses = new Map(
      this.pods.map(({ metadata: { uid } }, index) => {
        const part = `${this.revision}.${Math.floor(index / 250)}.${index % 250}`;
        const podIPs = [{ ip: `10.${part}` }, { ip: `fd00:${part.replaceAll('.', ':')}::1` }];
        return [uid, { phase: 'Running', conditions, podIPs }];
      }),
    );
    const forwarded = new Promise<void>((resolve) => {
      this.onForwarded = resolve;
    });
    this.services.update();
    await forwarded;
  }

  /** Gives iptables the input of the last change or check again. */
  async restoreAgain(): Promise<void> {
    await Promise.all([...this.inputs].map(([filter, input]) => filter.restore(input)));
  }
}
