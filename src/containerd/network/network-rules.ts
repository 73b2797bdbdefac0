import { writeFile } from 'node:fs/promises';
import type { Clock } from '../../clock.ts';
import { singleFlight } from '../../flow/single-flight.ts';
import { bridgeRules } from './bridge-rules.ts';
import { hostPortRules } from './host-port-rules.ts';
import { type NetworkedSandbox, onBridge } from './networked-sandbox.ts';
import type { PacketFilter } from './packet-filter.ts';
import { generateRestore, isCut, parseSaved } from './restore-text.ts';
import type { BridgeNetwork, Rule } from './rules.ts';

export interface NetworkRulesDeps {
  /** The bridge of the running pods. Undefined if they use another network. */
  readonly network: () => Promise<BridgeNetwork | undefined>;
  readonly sandboxes: () => Promise<readonly NetworkedSandbox[]>;
  /** Finds iptables and ip6tables. Empty if the machine has neither. */
  readonly filters: () => Promise<readonly PacketFilter[]>;
  /** Runs work while no other process changes these rules. */
  readonly withLock: <T>(work: () => Promise<T>) => Promise<T>;
  readonly clock: Clock;
}

/**
 * The rules in the kernel for the pods on our bridge: forwarding, masquerade and host ports. They follow from the
 * running sandboxes, so any process can rebuild them at any time, and they stay while no agent runs.
 */
export class NetworkRules {
  /** Updates the rules to the sandboxes that run now. Resolves to true if some had been removed. */
  readonly update: () => Promise<boolean>;
  private applied: readonly Rule[] = [];

  constructor(private readonly deps: NetworkRulesDeps) {
    const { clock, withLock } = deps;
    this.update = singleFlight(() => withLock(() => this.apply()), { clock, pausePerRun: 0, maxPauseMs: 0 });
  }

  /** Removes all rules of a bridge. */
  async remove({ bridge }: BridgeNetwork): Promise<void> {
    await this.deps.withLock(async () => {
      for (const filter of await this.deps.filters()) {
        const saved = parseSaved(await filter.save());
        for (const owner of [ownerOf(bridge), earlierOwner]) {
          const text = generateRestore(saved, owner, []);
          if (text !== undefined) await filter.restore(text);
        }
      }
    });
    this.applied = [];
  }

  private async apply(): Promise<boolean> {
    const network = await this.deps.network();
    if (network === undefined) return false;
    const rules = [...bridgeRules(network), ...hostPortRules(onBridge(await this.deps.sandboxes(), network))];
    const owner = ownerOf(network.bridge);
    const results = await Promise.all(
      (await this.deps.filters()).map(async (filter) => {
        const of = (all: readonly Rule[]): Rule[] => all.filter((rule) => rule.family === filter.family);
        if (of(rules).length === 0 && of(this.applied).length === 0) return false;
        const saved = parseSaved(await filter.save());
        const text = generateRestore(saved, owner, of(rules));
        if (text !== undefined) await filter.restore(text);
        // Another process may have removed a chain that no pod needs any more.
        const stillUsed = of(this.applied).filter(({ chain }) => rules.some((rule) => rule.chain === chain));
        return isCut(saved, owner, stillUsed);
      }),
    );
    this.applied = rules;
    await routeLoopback(network, rules);
    return results.includes(true);
  }
}

/** Earlier builds had one chain for all bridges, KUBELET-TS-FORWARD. */
const earlierOwner = 'KUBELET-TS';

/** The first part of the names of the chains of a bridge, such as `KTS0ADE00` for kts0ade00. */
const ownerOf = (bridge: string): string => bridge.toUpperCase();

/** Lets the node reach host ports at 127.0.0.1. `bridgeRules` keeps pods from using this. */
async function routeLoopback({ bridge }: BridgeNetwork, rules: readonly Rule[]): Promise<void> {
  if (!rules.some(({ family, chain }) => family === 'IPv4' && chain === 'DNAT')) return;
  await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/route_localnet`, '1');
}
