import type { Volume } from '../types.ts';

/** Kinds whose plugin has another name than the kind in kebab case. */
const ownNames: Readonly<Record<string, string>> = { configMap: 'configmap', downwardAPI: 'downward-api' };

/** The kubelet's name for the kind of a volume, such as `kubernetes.io/empty-dir`. */
export function volumePlugin({ name: _name, ...source }: Volume): string {
  const [kind = 'empty-dir'] = Object.keys(source);
  return `kubernetes.io/${ownNames[kind] ?? kind.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
