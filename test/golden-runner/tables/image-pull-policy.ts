import { applyDefaults } from '../../../src/api/objects/apply-defaults.ts';
import { tableAdapter } from '../table-adapter.ts';

interface In {
  image: string;
  imagePullPolicy?: string;
}

export const imagePullPolicy = tableAdapter<In>('image-pull-policy', (container) => {
  const pod = applyDefaults({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'pod' },
    spec: { containers: [{ name: 'main', ...container }] },
  });
  return { imagePullPolicy: pod.spec.containers[0]?.imagePullPolicy };
});
