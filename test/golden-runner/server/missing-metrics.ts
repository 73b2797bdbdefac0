import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Metrics of the kubelet that the agent does not have, and why. */
export interface MissingMetrics {
  pattern: RegExp;
  reason: string;
}

/** The list of docs/reference/api.md: names, which may end in `*`, with the reason after a colon. */
export function missingMetrics(): MissingMetrics[] {
  const page = readFileSync(join(process.cwd(), 'docs/reference/api.md'), 'utf8');
  const [, section = ''] = page.split('\n### Missing metrics\n');
  const [list = ''] = section.split(/^#/m);
  return list.split(/^- /m).flatMap((item) => {
    const [names = '', reason = ''] = item.split(/:\s+/);
    return [...names.matchAll(/`([\w*]+)`/g)].map(([, name = '']) => ({
      pattern: new RegExp(`^${name.replaceAll('*', '\\w*')}$`),
      reason: reason.trim(),
    }));
  });
}
