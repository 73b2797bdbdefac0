import type { Siege } from '../attack.ts';
import { repeat } from './repeat.ts';

/**
 * Declares pods for as long as the siege goes on, and then takes their manifests away. Each time round one of them is
 * declared anew under another revision, so that none rests in its back-off.
 */
export async function besiegingPods(
  siege: Siege,
  everyMs: number,
  pods: Readonly<Record<string, (revision: number) => object>>,
): Promise<void> {
  const { agent } = siege;
  const entries = Object.entries(pods);
  for (const [name, pod] of entries) await agent.write(`${name}.yaml`, pod(0));
  let revision = 0;
  await repeat(siege, everyMs, async () => {
    revision += 1;
    const [name, pod] = entries[revision % entries.length] ?? [];
    if (name !== undefined && pod !== undefined) await agent.write(`${name}.yaml`, pod(revision));
  });
  for (const [name] of entries) await agent.remove(`${name}.yaml`);
}

/** What makes a revision another one. */
export const revised = (revision: number): { annotations: Record<string, string> } => ({
  annotations: { 'siege/revision': String(revision) },
});
