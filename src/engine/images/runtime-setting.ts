import type { RuntimeService } from '../../cri/runtime-service.ts';

/** A setting of containerd's CRI plugin, as its verbose status shows it; undefined: the runtime tells nothing of it. */
export async function runtimeSetting(runtime: RuntimeService, name: string): Promise<string | undefined> {
  try {
    const { info } = await runtime.status({ verbose: true });
    const config: unknown = JSON.parse(info['config'] ?? '{}');
    if (typeof config !== 'object' || config === null) return undefined;
    const value = new Map<string, unknown>(Object.entries(config)).get(name);
    return typeof value === 'string' ? value : undefined;
  } catch {
    // It does not answer, or in a form of its own.
    return undefined;
  }
}
