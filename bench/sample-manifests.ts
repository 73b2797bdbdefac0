/** Typical manifests by size. `name` is the name of the pod. */
export const sampleManifests: Record<string, (name: string) => string> = { '0.45 KB': small, '1.7 KB': large };

function small(name: string): string {
  return `# A web server of the shop.
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: shop
  labels:
    app: ${name}
    tier: web
spec:
  containers:
    - name: web
      image: registry.example.com/shop/web:1.4.2
      ports:
        - containerPort: 8080
      env:
        - name: ROLE
          value: web
      resources:
        requests:
          cpu: 100m
          memory: 64Mi
  terminationGracePeriodSeconds: 10
`;
}

function large(name: string): string {
  return `# A web server of the shop, with what it needs beside it.
apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  namespace: shop
  labels:
    app: ${name}
    tier: web
  annotations:
    shop.example.com/owner: "web team"
spec:
  priorityClassName: system-node-critical
  securityContext:
    runAsUser: 1000
    seccompProfile: { type: RuntimeDefault }
  initContainers:
    - name: fetch
      image: registry.example.com/shop/fetch:1.4.2
      command: [sh, -c, 'fetch --from "$SOURCE" --to /data']
      env:
        - name: SOURCE
          value: https://assets.example.com/shop
      volumeMounts:
        - { name: data, mountPath: /data }
  containers:
    - name: web
      image: registry.example.com/shop/web:1.4.2
      args:
        - --listen=:8080
        - --data=/data
      ports:
        - name: http
          containerPort: 8080
      env:
        - name: POD_NAME
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
        - name: ROLE
          value: web
      resources:
        requests: { cpu: 100m, memory: 64Mi }
        limits: { cpu: 500m, memory: 256Mi }
      readinessProbe:
        httpGet: { path: /ready, port: 8080 }
        periodSeconds: 5
      livenessProbe:
        httpGet: { path: /live, port: 8080 }
        periodSeconds: 20
      volumeMounts:
        - { name: data, mountPath: /data, readOnly: true }
        - { name: settings, mountPath: /etc/shop }
    - name: logs
      image: registry.example.com/shop/logs:1.0.9
      volumeMounts:
        - { name: data, mountPath: /data, readOnly: true }
  volumes:
    - name: data
      emptyDir: { sizeLimit: 100Mi }
    - name: settings
      hostPath: { path: /etc/shop, type: Directory }
`;
}
