import { createHash } from 'node:crypto';
import { type Chain, chains, isPortChain, placeOf, type PortChain, type Rule } from './rules.ts';

/** The rules of each chain by table, as iptables-save prints them. */
export type SavedTables = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** Parses what iptables-save printed. */
export function parseSaved(text: string): SavedTables {
  const tables = new Map<string, Map<string, string[]>>();
  let table: Map<string, string[]> | undefined;
  for (const line of text.split('\n')) {
    const [, kind, name = '', rest = ''] = /^(\*|:|-A )(\S+) ?(.*)$/.exec(line) ?? [];
    if (kind === '*') {
      table = new Map<string, string[]>();
      tables.set(name, table);
    } else if (kind === ':') table?.set(name, []);
    else if (kind === '-A ') table?.get(name)?.push(rest);
  }
  return tables;
}

/**
 * Returns the input of `iptables-restore --noflush` that updates our chains to `rules`, all of one family. It
 * replaces the chains of a table in one transaction, and leaves other chains as they are. Returns undefined if
 * nothing differs. `owner` is the first part of the names of our chains.
 */
export function generateRestore(saved: SavedTables, owner: string, rules: readonly Rule[]): string | undefined {
  const tables = [...new Set(Object.values(chains).map(({ table }) => table))];
  const text = tables.map((table) => generateTable(table, saved, owner, rules)).join('');
  return text === '' ? undefined : text;
}

/** True if somebody removed a chain of ours that has rules, or a jump to it. */
export function isCut(saved: SavedTables, owner: string, rules: readonly Rule[]): boolean {
  return rules.some(({ chain }) => {
    const { table, from } = placeOf(chain);
    const found = saved.get(table);
    const name = `${owner}-${chain}`;
    const [mark] = found?.get(name) ?? [];
    return mark?.startsWith(comment) !== true || !from.every((hook) => found?.get(hook)?.includes(`-j ${name}`));
  });
}

function generateTable(table: string, saved: SavedTables, owner: string, rules: readonly Rule[]): string {
  const found = saved.get(table) ?? new Map<string, string[]>();
  const texts = new Map<Chain, string[]>(namesIn(table, found, owner).map((chain) => [chain, []]));
  for (const { chain, text } of rules) {
    if (placeOf(chain).table !== table) continue;
    const all = texts.get(chain);
    if (all === undefined) texts.set(chain, [text]);
    else all.push(text);
  }
  const parts = [...texts].map(([chain, all]) =>
    all.length === 0 ? withoutChain(found, owner, chain) : withChain(found, owner, chain, all),
  );
  const lines = [...parts.flatMap(({ declared }) => declared), ...parts.flatMap(({ commands }) => commands)];
  return lines.length === 0 ? '' : [`*${table}`, ...lines, 'COMMIT', ''].join('\n');
}

const fixedNames = Object.keys(chains) as (keyof typeof chains)[];

/** Our chains that a table may have. Those of ports come last, because a chain in use cannot be removed. */
function namesIn(table: string, found: SavedTable, owner: string): Chain[] {
  const start = `${owner}-`;
  const ofPorts = [...found.keys()].flatMap((name): PortChain[] => {
    const chain = name.slice(start.length);
    return name.startsWith(start) && isPortChain(chain) ? [chain] : [];
  });
  return [...fixedNames.filter((chain) => placeOf(chain).table === table), ...ofPorts];
}

type SavedTable = ReadonlyMap<string, readonly string[]>;

/** Lines for iptables-restore. Declaring a chain creates or empties it. */
interface Lines {
  declared: string[];
  commands: string[];
}

function withoutChain(found: SavedTable, owner: string, chain: Chain): Lines {
  const name = `${owner}-${chain}`;
  if (!found.has(name)) return { declared: [], commands: [] };
  const jumps = placeOf(chain).from.flatMap((hook) => jumpsIn(found, hook, name).map(() => `-D ${hook} -j ${name}`));
  return { declared: [], commands: [...jumps, `-F ${name}`, `-X ${name}`] };
}

function withChain(found: SavedTable, owner: string, chain: Chain, texts: readonly string[]): Lines {
  const name = `${owner}-${chain}`;
  const { from, isFirst = false } = placeOf(chain);
  const jumps = from.flatMap((hook) => placeJump(found, hook, name, isFirst));
  // The first rule has no target. Other releases of iptables print the rest differently, so only it is compared.
  const all = [`${comment}${createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 16)}`, ...texts];
  const current = found.get(name);
  if (current?.[0]?.replaceAll('"', '') === all[0] && current?.length === all.length)
    return { declared: [], commands: jumps };
  return { declared: [`:${name} - [0:0]`], commands: [...all.map((text) => `-A ${name} ${text}`), ...jumps] };
}

const comment = '-m comment --comment ';

/** The positions of the jumps to a chain. */
function jumpsIn(found: SavedTable, hook: string, name: string): number[] {
  return (found.get(hook) ?? []).flatMap((rule, index) => (rule === `-j ${name}` ? [index] : []));
}

/**
 * Returns the commands for one jump to our chain. It comes last, so that the rules of an administrator come first, but
 * before a rule that lets nothing through. There it decides in place of that rule or the policy. A chain that only
 * refuses packets for our addresses comes first.
 */
function placeJump(found: SavedTable, hook: string, name: string, isFirst: boolean): string[] {
  const jumps = jumpsIn(found, hook, name);
  const rules = found.get(hook) ?? [];
  const end = rules.findIndex((rule) => blocksAll(found, rule, new Set()));
  const [first] = jumps;
  if (jumps.length === 1 && first !== undefined && (end === -1 || first < end)) return [];
  const removals = jumps.map(() => `-D ${hook} -j ${name}`);
  if (isFirst) return [...removals, `-I ${hook} -j ${name}`];
  if (end === -1) return [...removals, `-A ${hook} -j ${name}`];
  return [...removals, `-I ${hook} ${end - jumps.filter((jump) => jump < end).length + 1} -j ${name}`];
}

/** True if a rule drops or rejects every packet, itself or in the chain to which it jumps. */
function blocksAll(found: SavedTable, rule: string, seen: ReadonlySet<string>): boolean {
  const target = /^-j (\S+)/.exec(rule)?.[1];
  if (target === undefined) return false;
  if (target === 'DROP' || target === 'REJECT') return true;
  if (seen.has(target)) return false;
  const rules = found.get(target) ?? [];
  const next = new Set([...seen, target]);
  const blocking = rules.findIndex((inner) => blocksAll(found, inner, next));
  const leaving = rules.findIndex((inner) => /^-j (ACCEPT|RETURN)\b/.test(inner));
  return blocking !== -1 && (leaving === -1 || blocking < leaving);
}
