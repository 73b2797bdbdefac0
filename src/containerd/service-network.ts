import type { ForwardedPort, Forwarding } from '../api/values/service.ts';
import type { Clock } from '../clock.ts';
import { errorMessage, UserError } from '../errors.ts';
import { singleFlight } from '../flow/single-flight.ts';
import type { Logger } from '../logger.ts';
import { applyAccepted, type RefusedPorts } from './network/apply-accepted.ts';
import { applyRules, removeRules } from './network/apply-rules.ts';
import { routeLoopback } from './network/network-rules.ts';
import type { PacketFilter } from './network/packet-filter.ts';
import type { BridgeNetwork, Rule } from './network/rules.ts';
import { serviceOwner, serviceRules } from './network/service-rules.ts';
import { findPacketFilters, withRulesLock } from './packet-filters.ts';
import type { PodCIDR } from './pod-cidr.ts';
import { openServiceSubnets, serviceSubnetsFile } from './service-subnets.ts';
import { subnetsIn } from './subnet-reservations.ts';

interface Deps {
  readonly rootDir: string;
  /** The subnets that the user chose. */
  readonly choice: PodCIDR;
  /** The bridge of the pods. Undefined if it is not ours. */
  readonly bridge: () => Promise<BridgeNetwork | undefined>;
  /** Finds iptables and ip6tables. Empty if the machine has neither. */
  readonly filters: () => Promise<readonly PacketFilter[]>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Forwards connections to Services by rules in the kernel, on any network of pods. The rules follow from what the
 * engine asks for last, and they stay while no agent runs.
 */
export class ServiceNetwork {
  private readonly update: () => Promise<void>;
  private readonly owner: string;
  private wanted: Forwarding = { subnets: [], ports: [] };
  private applied: readonly Rule[] = [];
  /** True if rules had been removed since the last check. */
  private wasCut = false;
  /** Absent if the kernel accepts all rules. */
  private refused: RefusedPorts | undefined;
  private markUsed: () => void = () => undefined;
  /** Resolves when something is forwarded for the first time. */
  readonly used = new Promise<void>((resolve) => {
    this.markUsed = resolve;
  });

  constructor(private readonly deps: Deps) {
    const { rootDir, clock } = deps;
    this.owner = serviceOwner(rootDir);
    const apply = (): Promise<void> => withRulesLock(clock, () => this.apply());
    this.update = singleFlight(apply, { clock, pausePerRun: 0, maxPauseMs: 0 });
  }

  /**
   * Chooses the subnets of cluster addresses, IPv4 first. They stay the same until the user chooses others. Rejects
   * with a `UserError` if iptables is missing or no subnet can be chosen.
   */
  async openSubnets(): Promise<readonly string[]> {
    const { rootDir, choice, bridge, filters, clock, logger } = this.deps;
    if ((await filters()).length === 0)
      throw new UserError('iptables is not installed', { hint: 'Install the package iptables.' });
    const hasIPv6 = (await bridge())?.subnets.some((subnet) => subnet.includes(':')) === true;
    return openServiceSubnets({ rootDir, choice, hasIPv6, clock, logger });
  }

  /** Replaces everything that is forwarded. If this rejects, the next `check` tries again. */
  async forward(forwarding: Forwarding): Promise<void> {
    this.wanted = forwarding;
    if (forwarding.ports.length > 0) this.markUsed();
    await this.update();
  }

  /** Returns the Services whose rules the kernel refuses. */
  problems(): { service: ForwardedPort['service']; message: string; hint: string }[] {
    if (this.refused === undefined) return [];
    const { ports, modules, error } = this.refused;
    const services = new Map(ports.map(({ service }) => [`${service.namespace}/${service.name}`, service]));
    const message = `is not forwarded, because the kernel refuses its rules: ${errorMessage(error)}`;
    const hint = `Load what the kernel lacks: modprobe -a ${modules.join(' ')}`;
    return [...services.values()].map((service) => ({ service, message, hint }));
  }

  /** Checks the rules. Resolves to true if some were restored since the last check. Never rejects. */
  async check(): Promise<boolean> {
    try {
      await this.update();
    } catch (error) {
      this.deps.logger.warn({ err: errorMessage(error) }, 'Checking the rules of Services failed');
    }
    const { wasCut } = this;
    this.wasCut = false;
    return wasCut;
  }

  private async apply(): Promise<void> {
    const { subnets, ports } = this.wanted;
    const filters = await this.deps.filters();
    const applyPorts = async (accepted: readonly ForwardedPort[]): Promise<boolean> => {
      const rules = serviceRules(this.owner, { subnets, ports: accepted });
      const wasCut = await applyRules(filters, this.owner, { rules, before: this.applied });
      this.applied = rules;
      return wasCut;
    };
    const { wasCut, refused } = await applyAccepted(ports, applyPorts);
    this.refused = refused;
    if (wasCut) this.wasCut = true;
    const bridge = ports.some(({ at }) => 'node' in at) ? await this.deps.bridge() : undefined;
    if (bridge !== undefined) await routeLoopback(bridge);
  }
}

/** Removes the rules of a root-dir's Services. Their addresses stay allocated. Does nothing if it never had any. */
export async function removeServiceRules(rootDir: string, clock: Clock): Promise<void> {
  if ((await subnetsIn(serviceSubnetsFile(rootDir))) === undefined) return;
  await withRulesLock(clock, async () => removeRules(await findPacketFilters(), [serviceOwner(rootDir)]));
}
