import { checkCDI, checkHandlers } from './check-extensions.ts';
import { checkAgents, checkClock, checkPaths, checkPorts } from './check-host.ts';
import { checkCNI, checkDNS, checkFirewall, checkRegistry } from './check-network.ts';
import { checkPackets } from './check-packets.ts';
import { checkDisks, checkMemory, checkSwap } from './check-resources.ts';
import { checkSubnet } from './check-subnet.ts';
import { checkRuntime } from './check-runtime.ts';
import { checkCgroups, checkConfiguration, checkKernel, checkRights } from './check-system.ts';
import { checkUpgrade } from './check-upgrade.ts';
import type { Facts } from './facts.ts';
import type { Finding, Verdict } from './finding.ts';

/** All checks by name, in the order of the report. */
const checks: Readonly<Record<string, (facts: Facts) => Verdict[]>> = {
  rights: checkRights,
  configuration: checkConfiguration,
  kernel: checkKernel,
  cgroups: checkCgroups,
  runtime: checkRuntime,
  handlers: checkHandlers,
  devices: checkCDI,
  cni: checkCNI,
  firewall: checkFirewall,
  packets: checkPackets,
  subnet: checkSubnet,
  dns: checkDNS,
  disk: checkDisks,
  memory: checkMemory,
  swap: checkSwap,
  clock: checkClock,
  files: checkPaths,
  ports: checkPorts,
  agent: checkAgents,
  upgrade: checkUpgrade,
  registry: checkRegistry,
};

/** The findings of all checks on these facts. */
export function generateFindings(facts: Facts): Finding[] {
  return Object.entries(checks).flatMap(([check, judge]) => judge(facts).map((verdict) => ({ check, ...verdict })));
}
