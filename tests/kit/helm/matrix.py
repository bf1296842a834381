"""Values that people write, by what they are for."""

from __future__ import annotations

from typing import Any

OFF: dict[str, Any] = {"enabled": False}

MATRIX: dict[str, dict[str, Any]] = {
    "the defaults": {},
    "a scheduler of its own": {"scheduler": {"separate": True, "replicas": 3}},
    "external databases": {
        "hub": {"db": {"type": "postgres", "existingSecret": {"name": "databases", "key": "hub"}}},
        "scheduler": {
            "separate": True,
            "db": {"type": "postgres", "existingSecret": {"name": "databases", "key": "scheduler"}},
            "redis": {"type": "external", "existingSecret": {"name": "databases", "key": "redis"}},
        },
    },
    "an ingress with TLS": {
        "ingress": {
            "enabled": True,
            "ingressClassName": "nginx",
            "hosts": ["hai.example.org"],
            "tls": [{"hosts": ["hai.example.org"], "secretName": "hai-tls"}],
        }
    },
    "HTTPS at the proxy": {
        "proxy": {"https": {"enabled": True, "secret": {"name": "tls"}}, "service": {"type": "LoadBalancer"}}
    },
    "GPUs for servers and other devices for tasks": {
        "singleuser": {
            "sizes": {"gpu": {"cpu": 4, "memory": "16Gi", "resource": "nvidia.com/gpu", "count": 1}},
            "nodeSelector": {"pool": "gpu"},
        },
        "tasks": {"gpuResources": ["amd.com/gpu"], "networkPolicy": {"internet": True}},
    },
    "accounts of users by files": {"identity": {"source": "file", "file": {"configMap": "accounts"}}},
    "accounts of users by logins": {
        "identity": {"source": "claims", "claims": {"uid": "posix.uid", "groupNumbers": {"cv": 3100}}},
        "scheduler": {"separate": True},
    },
    "the least": {
        "hub": {"db": {"type": "sqlite-memory"}},
        "scheduler": {"db": {"type": "sqlite"}, "redis": {"type": "none"}},
        "singleuser": {"storage": {"type": "none"}},
        "cull": OFF,
    },
    "everything off that can be": {
        "hub": {"networkPolicy": OFF, "pdb": OFF, "livenessProbe": OFF, "readinessProbe": OFF},
        "proxy": {"chp": {"networkPolicy": OFF, "livenessProbe": OFF, "readinessProbe": OFF}},
        "scheduler": {"separate": True, "networkPolicy": OFF, "pdb": OFF, "livenessProbe": OFF, "readinessProbe": OFF},
        "singleuser": {"networkPolicy": OFF},
        "tasks": {"networkPolicy": {"enabled": False, "spot": False}},
        "workloads": {"create": False, "podSecurity": ""},
        "postgresql": {"storage": OFF},
        "cull": OFF,
    },
    "everything on that can be": {
        "debug": {"enabled": True},
        "imagePullSecrets": ["registry"],
        "imageRegistry": "registry.example.org/hai",
        "snapshots": {"existingClaim": "hai-snapshots"},
        "hub": {
            "pdb": {"enabled": True, "minAvailable": 1},
            "db": {"type": "sqlite-pvc"},
            "extraEnv": {"A": "b", "C": {"valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}},
            "labels": {"team": "x"},
            "annotations": {"note": "y"},
            "nodeSelector": {"pool": "core"},
            "tolerations": [{"key": "core", "operator": "Exists"}],
            "networkPolicy": {"egress": [{"ports": [{"port": 636}]}], "ingress": [{"ports": [{"port": 1}]}]},
        },
        "proxy": {"chp": {"pdb": {"enabled": True}}, "labels": {"a": "b"}},
        "scheduler": {
            "separate": True,
            "logs": {"existingClaim": "logs"},
            "extraVolumes": [{"name": "ca", "configMap": {"name": "ca-of-the-databases"}}],
            "extraVolumeMounts": [{"name": "ca", "mountPath": "/etc/hai/ca", "readOnly": True}],
        },
        "postgresql": {"pdb": {"enabled": True}},
        "redis": {"pdb": {"enabled": True}},
        "monitoring": {
            "serviceMonitor": {"enabled": True},
            "prometheusRule": {"enabled": True},
            "dashboards": {"enabled": True},
        },
        "workloads": {"resourceQuota": {"enabled": True}, "limitRange": {"enabled": True}},
    },
    "names with a prefix, no DNS": {"fullnameOverride": "lab-hai", "serviceAddresses": "environment"},
    "one namespace for all": {"workloads": {"namespace": "platform"}},
    "environments on a claim of the chart's": {
        "workloads": {"namespace": "platform"},
        "haienv": {"enabled": True, "config": "indexes = ['https://pypi.example/simple']\n"},
    },
    "environments on a server of files": {
        "scheduler": {"separate": True},
        "haienv": {
            "enabled": True,
            "root": "/envs",
            "volume": {"type": "static", "source": {"nfs": {"server": "files.example", "path": "/envs"}}},
        },
    },
    "below a path": {"hub": {"baseUrl": "/hai/"}, "scheduler": {"separate": True}},
}
