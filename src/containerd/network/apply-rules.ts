import type { PacketFilter } from './packet-filter.ts';
import { generateRestore, isCut, parseSaved } from './restore-text.ts';
import type { Rule } from './rules.ts';

/**
 * Replaces the chains of an owner, in one transaction per family and table. `before` are the rules that this process
 * applied last. Resolves to true if some of them had been removed.
 */
export async function applyRules(
  filters: readonly PacketFilter[],
  owner: string,
  { rules, before }: { rules: readonly Rule[]; before: readonly Rule[] },
): Promise<boolean> {
  const results = await Promise.all(
    filters.map(async (filter) => {
      const of = (all: readonly Rule[]): Rule[] => all.filter((rule) => rule.family === filter.family);
      if (of(rules).length === 0 && of(before).length === 0) return false;
      const saved = parseSaved(await filter.save());
      const text = generateRestore(saved, owner, of(rules));
      if (text !== undefined) await filter.restore(text);
      // Another process may have removed a chain that no pod needs any more.
      const used = new Set(rules.map(({ chain }) => chain));
      return isCut(
        saved,
        owner,
        of(before).filter(({ chain }) => used.has(chain)),
      );
    }),
  );
  return results.includes(true);
}

/** Removes all chains of these owners. */
export async function removeRules(filters: readonly PacketFilter[], owners: readonly string[]): Promise<void> {
  for (const filter of filters) {
    const saved = parseSaved(await filter.save());
    for (const owner of owners) {
      const text = generateRestore(saved, owner, []);
      if (text !== undefined) await filter.restore(text);
    }
  }
}
